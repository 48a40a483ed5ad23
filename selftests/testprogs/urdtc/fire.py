# Fires through ctypes: sys.argv[1] is the library. Each line of standard input
# is a number N: app:request (N, -N) is fired twice.
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    n = int(line)
    for _ in range(2):
        lib.bpf_urdt__probe2(b"app", b"request", ctypes.c_long(n), ctypes.c_long(-n))
    print("ok", flush=True)

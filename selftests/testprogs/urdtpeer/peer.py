# SPDX-License-Identifier: MIT
# The Python peer of testprogs/urdtfire, with ctypes.
import ctypes
import sys
import threading

lib = ctypes.CDLL(sys.argv[1])


def fire(provider, name, *args):
    call = getattr(lib, "bpf_urdt__probe%d" % len(args))
    call(provider, name, *map(ctypes.c_long, args))


def storm(rounds, names):
    encoded = [b"n%d" % i for i in range(names)] + [b"Aa"]
    probe1 = lib.bpf_urdt__probe1
    probe1.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long]
    for r in range(rounds):
        for name in encoded:
            probe1(b"storm", name, r)


print(sys.argv[1], flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if word == "set":
        fire(b"dyn", b"basic")
        fire(b"dyn", b"urdt3", 1, 42, 0x7FFF12345678)
        fire(b"dyn", b"urdt3alt", -1, -2, -3)
        fire(b"dyn", b"urdt3", 1, 42, 0x7FFF12345678)
        fire(b"dyn", b"shared", -4, 1 << 62, 77, 4)
        fire(b"dyn", b"urdt11", *range(1, 12))
    elif word == "two":
        fire(b"dyn", rest[0].encode(), int(rest[1]), int(rest[2]))
    elif word == "storm":
        threads = [threading.Thread(target=storm, args=(int(rest[1]), int(rest[2]))) for _ in range(int(rest[0]))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    print("fired", flush=True)

package usdt

// A Reason identifies why a probe is not seen or cannot be traced, or what that costs.
type Reason string

// The reasons, by the step that finds them. docs/prerequisites.md explains them in the
// same order.
const (
	ReasonNoFile      Reason = "no-file"
	ReasonNotReadable Reason = "not-readable"
	ReasonNotAFile    Reason = "not-a-file"

	ReasonNotELF        Reason = "not-elf"
	ReasonScript        Reason = "script"
	ReasonLinkerScript  Reason = "linker-script"
	ReasonStaticLibrary Reason = "static-library"
	ReasonMalformed     Reason = "malformed-elf"
	ReasonObjectFile    Reason = "object-file"
	ReasonCoreFile      Reason = "core-file"

	ReasonOtherMachine Reason = "other-machine"

	ReasonNoSections Reason = "no-sections"

	ReasonNoNotes      Reason = "no-notes"
	ReasonNotesRemoved Reason = "notes-removed"
	ReasonDebugFile    Reason = "debug-file"
	ReasonInLibrary    Reason = "in-library"
	ReasonGoProgram    Reason = "go-program"
	ReasonNotesCut     Reason = "notes-unreadable"

	ReasonMalformedNote Reason = "malformed-note"

	ReasonNoBase Reason = "no-base"
	ReasonMoved  Reason = "moved"

	ReasonNoProbe Reason = "no-probe"

	ReasonDiscarded     Reason = "discarded"
	ReasonNotExecutable Reason = "not-executable"

	ReasonRefused      Reason = "instruction-refused"
	ReasonNotANop      Reason = "not-a-nop"
	ReasonSingleStep   Reason = "single-stepped"
	ReasonNotDecodable Reason = "instruction-unknown"

	ReasonSemaphoreOdd        Reason = "semaphore-odd"
	ReasonSemaphoreUnwritable Reason = "semaphore-unwritable"
	ReasonSemaphoreOverflow   Reason = "semaphore-overflow"
	ReasonTwoSemaphores       Reason = "two-semaphores"

	ReasonArgument Reason = "argument-unreadable"

	ReasonConflict Reason = "conflict"

	ReasonNoProcess Reason = "no-process"
	ReasonZombie    Reason = "zombie"
	ReasonNoAccess  Reason = "no-access"

	ReasonNotMapped      Reason = "not-mapped"
	ReasonReplaced       Reason = "replaced"
	ReasonOtherFile      Reason = "other-file"
	ReasonNoExec         Reason = "mapped-without-exec"
	ReasonMappedShared   Reason = "mapped-shared"
	ReasonMappedWritable Reason = "mapped-writable"
	ReasonMappedTwice    Reason = "mapped-twice"
	ReasonSemaphorePage  Reason = "semaphore-page"

	ReasonPatched Reason = "patched"

	ReasonNoObject      Reason = "no-object"
	ReasonNotRegistered Reason = "not-registered"
)

// remedies say what can be done.
var remedies = map[Reason]string{
	ReasonNoFile:      "check the path; that of a process in a container begins with /proc/PID/root",
	ReasonNotReadable: "run it as a user who may read the file",
	ReasonNotAFile:    "name a file; nopfire list DIR searches a directory",

	ReasonNotELF:        "name the program or library itself",
	ReasonScript:        "the probes are in the interpreter and its libraries: name these",
	ReasonLinkerScript:  "the loader reads another file: name that one",
	ReasonStaticLibrary: "the notes go into the programs that are linked with it: name one of these",
	ReasonMalformed:     "the file is damaged or was cut off: install or build it anew",
	ReasonObjectFile:    "link it first: only then do the notes hold addresses",
	ReasonCoreFile:      "name the program that left it",

	ReasonOtherMachine: "trace it on a machine of its kind",

	ReasonNoSections: "notes are found by the section headers: strip without --strip-section-headers, do not pack the file (upx -d unpacks it), or build it anew",

	ReasonNoNotes:      "build it with sys/sdt.h: many projects need systemtap-sdt-dev (-devel) at build time and an option such as --enable-dtrace",
	ReasonNotesRemoved: "plain strip keeps the notes: build or strip it anew, without --remove-section=.note.stapsdt",
	ReasonDebugFile:    "name the file that the debug file is for: that one has the notes",
	ReasonGoProgram:    "a Go program defines its probes when it runs: nopfire list -p PID",
	ReasonNotesCut:     "the file is damaged, or a tool has compressed the section: build it anew",

	ReasonMalformedNote: "notes behind it are read all the same; report it to who built the file",

	ReasonNoBase: "nothing, unless prelink has moved the file: then build it anew",

	ReasonNoProbe: "nopfire list shows the names that there are; - in a name of DTrace is __ in a note",

	ReasonDiscarded:     "the linker found the code unused (--gc-sections): the function is not in this file",
	ReasonNotExecutable: "the note is wrong, or the file was changed after it was linked: build it anew",

	ReasonRefused:      "build it anew with a nop at the probe, as sys/sdt.h makes it",
	ReasonNotANop:      "the note is right only if the program was built to have another instruction there; else it was patched: build it anew",
	ReasonSingleStep:   "each hit costs some 16 times as much: on this kernel a nop of one byte is cheaper",
	ReasonNotDecodable: "nothing: the kernel is asked when it is traced",

	ReasonSemaphoreOdd:        "the kernel takes even addresses only: declare the semaphore as unsigned short, in section .probes",
	ReasonSemaphoreUnwritable: "define the semaphore in section .probes, as dtrace -G and SDT_SEMAPHORE do, and not in .bss",
	ReasonSemaphoreOverflow:   "trace fewer probes at once",
	ReasonTwoSemaphores:       "the kernel takes one semaphore for an instruction: build it anew",

	ReasonArgument: "the other arguments are read; perf and gdb may know this one",

	ReasonConflict: "end the other tracer first, or have it take the semaphore as well",

	ReasonNoProcess: "check the process id; in another PID namespace it has another one",
	ReasonZombie:    "nothing: the program does not run any more",
	ReasonNoAccess:  "run it as root, or with CAP_SYS_PTRACE",

	ReasonNotMapped:      "it is loaded later or not at all (dlopen, another program?): a trace of PATH:PROVIDER:PROBE waits for it",
	ReasonReplaced:       "the process runs the old file until it is restarted: a trace with -p takes that one",
	ReasonOtherFile:      "name the file that the process has mapped",
	ReasonNoExec:         "the process reads the file and does not run it",
	ReasonMappedShared:   "the kernel puts no breakpoint into shared mappings, and does not say so: map the file MAP_PRIVATE",
	ReasonMappedWritable: "the kernel puts no breakpoint into writable mappings, and does not say so: map the code without PROT_WRITE",
	ReasonMappedTwice:    "the semaphore is counted in one of the mappings only: map it once",
	ReasonSemaphorePage:  "the kernel counts in private writable mappings only: map the semaphores so",

	ReasonNoObject:      "start the program first, or install the object of the system: nopfire urdt install",
	ReasonNotRegistered: "a process need not register what it fires: trace it all the same",

	ReasonPatched: "the process has changed its code: a trace writes a breakpoint where the file has the probe",
}

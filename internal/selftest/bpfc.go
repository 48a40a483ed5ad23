package selftest

var bpfcChecks []Check

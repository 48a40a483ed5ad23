package selftest

var urdtChecks []Check

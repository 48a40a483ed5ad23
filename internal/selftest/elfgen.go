package selftest

var elfgenChecks []Check

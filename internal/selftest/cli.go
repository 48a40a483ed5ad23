package selftest

var cliChecks []Check

package selftest

var usdtChecks []Check

package pass

func init() {
	tables["cfg"] = cfg
	tables["returns"] = returns
	tables["switch"] = switches
}

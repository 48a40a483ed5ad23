package usdt

import (
	"fmt"

	"github.com/nopfire/nopfire/internal/procmaps"
)

// runtimeAddresses returns the addresses at which a process runs a location.
func runtimeAddresses(t *Target, loc *Location, pid int) ([]uint64, error) {
	if pid <= 0 {
		return nil, errNoCookies
	}
	var addrs []uint64
	for m, err := range procmaps.Of(pid) {
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		if m.Perms&procmaps.Exec == 0 || m.Inode != t.ID.Inode || loc.Offset < m.Off || loc.Offset-m.Off >= m.End-m.Start {
			continue
		}
		addrs = append(addrs, m.Start+loc.Offset-m.Off)
	}
	return addrs, nil
}

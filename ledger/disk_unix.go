//go:build unix

package ledger

import (
	"slices"
	"syscall"
)

// networkFileSystems are the kinds that statfs(2) tells of NFS, SMB, CIFS, SMB2,
// AFS and 9P.
var networkFileSystems = []uint32{0x6969, 0x517B, 0xFF534D42, 0xFE534D42, 0x5346414F, 0x01021997}

// onNetwork tells whether a folder is known to lie on another machine.
func onNetwork(folder string) bool {
	var stat syscall.Statfs_t
	return syscall.Statfs(folder, &stat) == nil && slices.Contains(networkFileSystems, uint32(stat.Type))
}

package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// StartCluster runs a Redis Cluster of the given number of masters, each with
// one replica that takes over within a few seconds when the master is killed.
// The masters come first.
func StartCluster(t testing.TB, masters int) []*Server {
	t.Helper()
	var nodes []*Server
	for range 2 * masters {
		_, bus, _ := net.SplitHostPort(freeAddr(t))
		nodes = append(nodes, Start(t, "--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "1000"))
	}
	for i, node := range nodes {
		node.Do("CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
		if i < masters {
			first, last := i*16384/masters, (i+1)*16384/masters-1
			node.Do("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last))
		}
		if i > 0 {
			host, port, _ := net.SplitHostPort(nodes[0].Addr)
			node.Do("CLUSTER", "MEET", host, port, nodes[0].bus())
		}
	}
	known := fmt.Sprintf("cluster_known_nodes:%d", len(nodes))
	for _, node := range nodes {
		eventually(t, "the nodes meet", func() bool { return strings.Contains(node.Do("CLUSTER", "INFO"), known) })
	}
	for i, node := range nodes[masters:] {
		node.Do("CLUSTER", "REPLICATE", nodes[i].Do("CLUSTER", "MYID"))
	}
	for i, node := range nodes {
		eventually(t, "the cluster works", func() bool {
			ready := strings.Contains(node.Do("CLUSTER", "INFO"), "cluster_state:ok")
			if i >= masters {
				ready = ready && strings.Contains(node.Do("INFO", "replication"), "master_link_status:up")
			}
			return ready
		})
	}
	return nodes
}

// bus is the port of the cluster bus.
func (s *Server) bus() string {
	for i, arg := range s.args {
		if arg == "--cluster-port" {
			return s.args[i+1]
		}
	}
	return ""
}

// StartSentinel runs a master, a replica of it, and a sentinel that knows the
// master by the given name and promotes the replica within a few seconds when
// the master is killed.
func StartSentinel(t testing.TB, name string) (master, replica, sentinel *Server) {
	t.Helper()
	master = Start(t)
	host, port, _ := net.SplitHostPort(master.Addr)
	replica = Start(t, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	eventually(t, "the replica follows", func() bool {
		return strings.Contains(replica.Do("INFO", "replication"), "master_link_status:up")
	})
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 1000\nsentinel failover-timeout %[1]s 5000\n", name, host, port)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	sentinel = start(t, func(s *Server) { s.file, s.args = file, []string{"--sentinel"} })
	eventually(t, "the sentinel knows the replica", func() bool {
		return strings.Contains(sentinel.Do("INFO", "sentinel"), "slaves=1")
	})
	return master, replica, sentinel
}

// Package redisconn says in the configuration how a Redis is reached, and makes
// the clients that reach it.
package redisconn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/enrichd/enrichd/tlsclient"
)

// Config says how a Redis is reached. The zero Config is no Redis.
type Config struct {
	// Addresses of Redis as host:port: one of a server, several of a cluster's
	// nodes, or those of the sentinels when Master is set. The path of a socket
	// leads to a server on the same machine. Default: none, and Redis is not used.
	Addresses []string `yaml:"addresses"`
	// Cluster says that a single address leads to a cluster. Several addresses
	// are a cluster anyway. Default false.
	Cluster bool `yaml:"cluster"`
	// Master is the name by which the sentinels at Addresses know the server.
	// Default: no sentinels.
	Master string `yaml:"master"`
	// Username and Password of the ACL user. Default: none.
	Username string `yaml:"username"`
	Password string `yaml:"password" secret:"true"`
	// SentinelUsername and SentinelPassword of the sentinels. Default: none.
	SentinelUsername string `yaml:"sentinel_username"`
	SentinelPassword string `yaml:"sentinel_password" secret:"true"`
	// DB is the number of the database; a cluster has only 0. Default 0.
	DB int `yaml:"db"`
	// TLS encrypts the connections. Default: off.
	TLS TLS `yaml:"tls"`
	// Prefix begins every key. Installations that share a Redis but nothing in
	// it differ in it. Default "enrichd:".
	Prefix string `yaml:"prefix"`
}

// TLS says how connections to Redis are encrypted.
type TLS struct {
	// Enabled turns encryption on. Default false.
	Enabled bool `yaml:"enabled"`
	// CAFile holds the certificates that may have signed the server's, in PEM.
	// Default: the system's.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the client's certificate and key in PEM, for a
	// server that asks for one. Default: none.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is the name that the server's certificate must carry. Default:
	// the host of the address.
	ServerName string `yaml:"server_name"`
}

// Enabled tells whether there is a Redis.
func (c Config) Enabled() bool { return len(c.Addresses) > 0 }

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "enrichd:"
	}
	return c
}

// clustered tells whether the addresses are those of a cluster.
func (c Config) clustered() bool { return c.Cluster || len(c.Addresses) > 1 && c.Master == "" }

// Validate reports every field that cannot be obeyed, or that contradicts
// another, by its name.
func (c Config) Validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	if !c.Enabled() {
		report(c.Cluster || c.Master != "" || c.Username != "" || c.Password != "" || c.TLS.Enabled,
			"addresses: there are none, so the other fields do nothing")
		return problems
	}
	for i, address := range c.Addresses {
		_, _, err := net.SplitHostPort(address)
		isSocket := filepath.IsAbs(address)
		report(err != nil && !isSocket, "addresses[%d]: %q is neither host:port nor the path of a socket", i, address)
		report(isSocket && (c.clustered() || c.Master != "" || c.TLS.Enabled), "addresses[%d]: a socket leads to one server, without sentinels and TLS", i)
	}
	report(c.Cluster && c.Master != "", "master: a cluster has no sentinels")
	report(c.DB < 0, "db: %d is negative", c.DB)
	report(c.clustered() && c.DB > 0, "db: %d: a cluster has only database 0", c.DB)
	report(c.Username != "" && c.Password == "", "password: a username needs one")
	if _, err := c.TLS.load(); err != nil {
		report(true, "tls.%w", err)
	}
	return problems
}

// load reads the files; nil without TLS.
func (c TLS) load() (*tls.Config, error) {
	if !c.Enabled {
		if c != (TLS{}) {
			return nil, errors.New("enabled: is false, so the other fields do nothing")
		}
		return nil, nil
	}
	loaded, err := tlsclient.Files{Authorities: c.CAFile, Certificate: c.CertFile, Key: c.KeyFile}.Config("ca_file", "cert_file")
	if err != nil {
		return nil, err
	}
	loaded.ServerName = c.ServerName
	return loaded, nil
}

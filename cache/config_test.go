package cache

import (
	"errors"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/redisconn"
)

func TestZeroConfigIsValid(t *testing.T) {
	if problems := (Config{}).Validate(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestConfigProblems(t *testing.T) {
	valid := RedisConfig{Config: redisconn.Config{Addresses: []string{"localhost:6379"}}, Pepper: "sixteen bytes or more"}
	with := func(change func(*RedisConfig)) Config {
		changed := valid
		change(&changed)
		return Config{Redis: changed}
	}
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"little memory":          {Config{MemoryBytes: 1000}, "memory_bytes"},
		"jitter of all":          {Config{Jitter: 1}, "jitter"},
		"no pepper":              {with(func(c *RedisConfig) { c.Pepper = "" }), "redis.pepper"},
		"short pepper":           {with(func(c *RedisConfig) { c.Pepper = "salt" }), "redis.pepper"},
		"sentinels of a cluster": {with(func(c *RedisConfig) { c.Cluster, c.Master = true, "main" }), "redis.master"},
		"database of a cluster":  {with(func(c *RedisConfig) { c.Addresses = []string{"a:1", "b:1"}; c.DB = 1 }), "redis.db"},
		"negative database":      {with(func(c *RedisConfig) { c.DB = -1 }), "redis.db"},
		"user without password":  {with(func(c *RedisConfig) { c.Username = "enrichd" }), "redis.password"},
		"negative pool":          {with(func(c *RedisConfig) { c.PoolSize = -1 }), "redis.pool_size"},
		"no address":             {Config{Redis: RedisConfig{Config: redisconn.Config{Password: "secret"}}}, "redis.addresses"},
		"missing CA":             {with(func(c *RedisConfig) { c.TLS = redisconn.TLS{Enabled: true, CAFile: "testdata/missing.pem"} }), "redis.tls.ca_file"},
		"key without cert":       {with(func(c *RedisConfig) { c.TLS = redisconn.TLS{Enabled: true, KeyFile: "key.pem"} }), "redis.tls.cert_file"},
		"TLS fields without TLS": {with(func(c *RedisConfig) { c.TLS.ServerName = "redis" }), "redis.tls.enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := errors.Join(test.config.Validate()...)
			if problems == nil || !strings.Contains(problems.Error(), test.want+":") {
				t.Errorf("got %v, want a problem of %s", problems, test.want)
			}
			if _, err := New(test.config, silent()); err == nil {
				t.Error("New accepts it")
			}
		})
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	config := Config{MemoryBytes: 1, Jitter: 2, Redis: RedisConfig{Config: redisconn.Config{Addresses: []string{"localhost:6379"}, DB: -1}}}
	if problems := config.Validate(); len(problems) != 4 {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
}

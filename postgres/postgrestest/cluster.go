package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"seckill/migrations"
	"seckill/postgres"
)

// shared is the server that New makes databases on; nil outside Main.
var shared *cluster

// cluster is a server on which databases are made from a migrated template.
type cluster struct {
	address *url.URL           // of a database that is there already
	dataDir string             // of the embedded server
	server  *postgres.Embedded // nil if the server is somebody else's

	makeTemplate sync.Once
	template     string // its name, "" until it is made
	templateErr  error
}

// openCluster uses the server at an address, or starts one if it is empty.
func openCluster(ctx context.Context, address string) (*cluster, error) {
	c := &cluster{}
	if address == "" {
		var err error
		if c.dataDir, err = makeTempDir(); err != nil {
			return nil, err
		}
		c.server, err = postgres.StartEmbedded(ctx, postgres.EmbeddedConfig{
			DataDir: c.dataDir,
			Settings: map[string]string{
				// Nothing here has to survive the tests.
				"fsync":            "off",
				"full_page_writes": "off",

				"log_lock_waits":  "on",
				"max_connections": "500",
				"shared_buffers":  "128MB",
			},
		})
		if err != nil {
			return nil, err
		}
		address = c.server.URL()
	}
	var err error
	c.address, err = url.Parse(address)
	if err != nil {
		return nil, err
	}
	if c.address.Scheme != "postgres" && c.address.Scheme != "postgresql" {
		return nil, errors.New("the database's address is not a URL that begins with postgres://")
	}
	if err := c.exec(ctx, "select 1"); err != nil {
		return nil, err
	}
	return c, nil
}

// close removes what the tests left on the server, and the server if it is ours.
func (c *cluster) close(ctx context.Context) error {
	if c.server != nil {
		return c.server.Stop()
	}
	if c.template != "" {
		return c.drop(ctx, c.template)
	}
	return nil
}

// checkDeadlocks returns an error if the embedded server has noted a deadlock.
func (c *cluster) checkDeadlocks() error {
	if c.server == nil {
		return nil
	}
	log, err := os.ReadFile(filepath.Join(c.dataDir, "postgres.log"))
	if err != nil {
		return err
	}
	if n := bytes.Count(log, []byte("deadlock detected")); n > 0 {
		return fmt.Errorf("%d deadlocks", n)
	}
	return nil
}

// keepLog saves the embedded server's log, in which long waits for locks and
// deadlocks are noted, and says where it is.
func (c *cluster) keepLog() {
	if c.server == nil {
		return
	}
	kept, err := copyToTemp(filepath.Join(c.dataDir, "postgres.log"))
	if err != nil {
		complain("keep the server's log", err)
		return
	}
	fmt.Fprintf(os.Stderr, "postgrestest: the server's log: %s\n", kept)
}

func copyToTemp(path string) (string, error) {
	from, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "seckill-test-*.log")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return to.Name(), errors.Join(err, to.Close())
}

// migrated makes a database with the project's schema and returns its name.
func (c *cluster) migrated(ctx context.Context) (string, error) {
	name := newName("template")
	if err := c.exec(ctx, "create database "+name); err != nil {
		return "", err
	}
	err := migrations.Up(ctx, c.urlOf(name))
	if err == nil {
		// A database that somebody is connected to cannot be a template.
		err = c.exec(ctx, "alter database "+name+" allow_connections false")
	}
	if err != nil {
		return "", errors.Join(err, c.drop(ctx, name))
	}
	return name, nil
}

// create makes a database from the template and returns its name.
func (c *cluster) create(ctx context.Context) (string, error) {
	c.makeTemplate.Do(func() {
		// Other tests wait for the template too: it must not end with this one.
		c.template, c.templateErr = c.migrated(context.WithoutCancel(ctx))
	})
	if c.templateErr != nil {
		return "", fmt.Errorf("make the template: %w", c.templateErr)
	}
	name := newName("test")
	statement := "create database " + name + " template " + c.template
	if c.server != nil {
		// Twice as fast, since the checkpoints that it needs are cheap without fsync.
		statement += " strategy file_copy"
	}
	return name, c.exec(ctx, statement)
}

func (c *cluster) drop(ctx context.Context, name string) error {
	return c.exec(ctx, "drop database if exists "+name+" with (force)")
}

// exec executes a statement on a connection of its own.
func (c *cluster) exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, c.address.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func (c *cluster) urlOf(database string) string {
	address := *c.address
	address.Path = "/" + database
	return address.String()
}

// newName returns a name that no other test run on the server uses.
func newName(kind string) string {
	return "seckill_" + kind + "_" + strings.ToLower(rand.Text())
}

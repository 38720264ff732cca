package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// createCluster runs initdb. The cluster is there as a whole or not at all: what
// an interrupted attempt left is removed by the next one.
func (d *dataDir) createCluster(ctx context.Context, installation installation, sync bool) error {
	unfinished := d.cluster() + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return err
	}
	if err := d.account.own(unfinished); err != nil {
		return err
	}

	arguments := []string{
		"--pgdata=" + unfinished,
		"--username=" + ownerRole,
		"--auth-local=trust", "--auth-host=reject", // only the owner of the process can reach the socket
		"--encoding=UTF8", "--locale=C", // sorts alike everywhere, whatever the system's C library
		"--data-checksums", "--no-instructions",
	}
	if !sync {
		arguments = append(arguments, "--no-sync")
	}
	program := installation.program("initdb")
	cmd := d.account.command(ctx, unfinished, program, arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 5 * time.Second
	output, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("initdb: %w: %s", exit, output)
	}
	if err != nil {
		return d.account.explain(err, unfinished, program)
	}

	if err := includeSettings(unfinished); err != nil {
		return err
	}
	if err := os.Rename(unfinished, d.cluster()); err != nil {
		return err
	}
	return syncDir(d.root)
}

// adjustOwner gives the cluster to the account that will run the server, where
// root put it there, for example from a backup.
func (d *dataDir) adjustOwner() error {
	info, err := os.Stat(d.cluster())
	if err != nil {
		return err
	}
	if d.account == nil || ownerOf(info).uid == d.account.uid {
		return nil
	}
	return d.account.ownAll(d.cluster())
}

// includeSettings makes a new cluster's configuration end with the settings that
// writeSettings keeps. What initdb found out about the system stays before it.
func includeSettings(cluster string) error {
	file, err := os.OpenFile(filepath.Join(cluster, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "\ninclude '%s'\n", settingsName); err != nil {
		return err
	}
	return file.Sync()
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

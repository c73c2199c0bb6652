package app

import (
	"context"
	"errors"
	"os"
	"reflect"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/telemetry"
)

// Follow reads the configuration again whenever its files change or again
// receives, until ctx ends. One that cannot be obeyed is logged and changes
// nothing.
func (a *App) Follow(ctx context.Context, again <-chan os.Signal) {
	watcher := config.NewWatcher(a.watched(), a.log)
	defer watcher.Close()
	for watcher.Wait(ctx, again) {
		_, _ = a.Reload(ctx) // logged there
		watcher.Watch(a.watched())
	}
}

func (a *App) watched() []string {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	return a.files
}

// Reload reads the configuration's file again and has the running program obey
// it, all of it or, when something is wrong, nothing. Requests under way finish
// with what they began with.
func (a *App) Reload(ctx context.Context) (enrich.Reloaded, error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	reloaded, err := a.reload()
	result := telemetry.ReloadApplied
	switch {
	case err != nil:
		result = telemetry.ReloadRefused
		a.log.ErrorContext(ctx, "configuration refused; the one before still holds", "result", result, "problems", messages(err))
	case len(reloaded.Changed) == 0:
		result = telemetry.ReloadUnchanged
		a.log.DebugContext(ctx, "configuration unchanged", "result", result)
	default:
		a.log.InfoContext(ctx, "configuration reloaded", "result", result, "changed", reloaded.Changed, "after_restart", reloaded.Restart)
	}
	a.parts.telemetry.Metrics.Reloaded(result)
	return reloaded, err
}

func (a *App) reload() (enrich.Reloaded, error) {
	if a.ending {
		return enrich.Reloaded{}, refused("the program is being stopped", nil)
	}
	if a.file == "" {
		return enrich.Reloaded{}, refused("the program was not started from a file", nil)
	}
	next, files, err := config.LoadFiles(a.file)
	a.files = files
	switch {
	case err != nil:
		return enrich.Reloaded{}, refused("the configuration has problems, which the log tells", err)
	case reflect.DeepEqual(next, config.Config{}) && !reflect.DeepEqual(a.config, next):
		return enrich.Reloaded{}, refused("the file is empty, which is more likely a mistake than meant", nil)
	}
	return a.apply(next)
}

// isAccount tells whether somebody asks under the name.
func (a *App) isAccount(name string) bool {
	if !a.closed {
		return name == config.OpenAccount
	}
	_, known := a.parts.accounts.ByAccount(name)
	return known
}

// apply has the running program obey another configuration.
func (a *App) apply(next config.Config) (enrich.Reloaded, error) {
	definitions, err := a.parts.apply(next)
	if err != nil {
		return enrich.Reloaded{}, refused("the configuration cannot be obeyed, the log tells why", err)
	}
	reloaded := enrich.Reloaded{At: time.Now(), Changed: definitions}
	for _, change := range config.Changes(a.config, next) {
		reloaded.Changed = append(reloaded.Changed, change.Path)
		if change.Restart {
			reloaded.Restart = append(reloaded.Restart, change.Path)
		}
	}
	if opens := len(next.Accounts.List) == 0; opens == a.closed {
		reloaded.Restart = append(reloaded.Restart, "accounts.list")
	}
	a.level.Set(next.Log.Level)
	a.config = next
	return reloaded, nil
}

// refused is the error of a reload; its cause is for the log.
func refused(message string, cause error) error {
	return &enrich.Error{Kind: enrich.Rejected, Reason: "configuration", Offset: -1, Message: message, Cause: cause}
}

// messages lists what the causes of a refused reload say.
func messages(err error) (all []string) {
	var typed *enrich.Error
	if errors.As(err, &typed) && typed.Cause != nil {
		err = typed.Cause
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			all = append(all, one.Error())
		}
		return all
	}
	return []string{err.Error()}
}

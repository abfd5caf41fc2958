// Reads a compose file as `docker compose` does and prints what it says, as JSON: variables filled in, defaults and paths made explicit.
// What compose only warns of is an error here. Secrets and bind mounts need not be there.
//
//	compose -file docker-compose.yml -env-file .env.example [-profile laptop]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/sirupsen/logrus"
)

// warnings counts what compose would only mention.
type warnings struct{ count int }

func (w *warnings) Levels() []logrus.Level {
	return []logrus.Level{logrus.WarnLevel, logrus.ErrorLevel}
}

func (w *warnings) Fire(*logrus.Entry) error {
	w.count++
	return nil
}

func main() {
	file := flag.String("file", "docker-compose.yml", "compose file")
	envFile := flag.String("env-file", ".env", "file of variables")
	profile := flag.String("profile", "", "profile to turn on; without it those of COMPOSE_PROFILES")
	flag.Parse()
	text, err := load(*file, *envFile, *profile)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}

func load(file, envFile, profile string) ([]byte, error) {
	seen := &warnings{}
	logrus.AddHook(seen)
	profiles := []string{}
	if profile != "" {
		profiles = append(profiles, profile)
	}
	options, err := cli.NewProjectOptions(
		[]string{file},
		cli.WithEnvFiles(envFile),
		cli.WithDotEnv,
		cli.WithDefaultProfiles(profiles...),
		cli.WithInterpolation(true),
		cli.WithResolvedPaths(true),
		cli.WithConsistency(true),
	)
	if err != nil {
		return nil, err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	if seen.count > 0 {
		return nil, fmt.Errorf("%s: %d warnings", file, seen.count)
	}
	return project.MarshalJSON()
}

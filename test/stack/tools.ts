/** A program of the stack: where to find it, and how to build it where it is not found. */
export interface Tool {
  readonly name: string;
  /** Environment variable that names a binary to use instead. */
  readonly env: string;
  /** Name to look for on the PATH; left out where only our own build will do. */
  readonly onPath?: string;
  /** Folder under `test/stack/tools/` with the go.mod that pins it. */
  readonly module: string;
  /** Go package to build: `.` for a program of ours. */
  readonly package: string;
  /** A Java program: its module has a pom.xml that says which jars to fetch, and a start.sh. */
  readonly isJava?: boolean;
  readonly ldflags?: string;
  /** Go version to build it with where the module asks for a newer one than people have; Go fetches it by itself. */
  readonly toolchain?: string;
  /** How long a first build usually takes on two cores, for the message. */
  readonly buildTakes: string;
}

/** A program that is taken from Debian's packages where it is not found. */
export interface DebianTool {
  readonly name: string;
  /** Environment variable that names a binary to use instead. */
  readonly env: string;
  readonly onPath: string;
  /** Where else it may be: a pattern of paths, the last one in order counts. */
  readonly elsewhere?: string;
  /** The package that has it, and those that it needs and doesn't name itself. */
  readonly packages: readonly string[];
  /** Where the binary is in its package, which is then unpacked into the cache: installed it would start a service. */
  readonly unpacked?: string;
  /** Nobody else can use it. */
  readonly needsRoot?: boolean;
}

/** A Go module knows no release: its programs would call themselves v0.0.0-master. */
const kubernetesFlags = '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3';

/** Every program that the stack can start. One more part is one more entry. */
export const tools = {
  temporal: {
    name: 'temporal',
    env: 'VMFLOW_TEMPORAL_BIN',
    onPath: 'temporal',
    module: 'temporal',
    package: 'github.com/temporalio/cli/cmd/temporal',
    ldflags: '-s -w',
    buildTakes: 'about 3 minutes',
  },
  vcsim: {
    name: 'vcsim',
    env: 'VMFLOW_VCSIM_BIN',
    module: 'vcsim',
    package: '.',
    ldflags: '-s -w',
    buildTakes: 'about 1 minute',
  },
  etcd: {
    name: 'etcd',
    env: 'VMFLOW_ETCD_BIN',
    onPath: 'etcd',
    module: 'etcd',
    package: 'go.etcd.io/etcd/server/v3',
    ldflags: '-s -w',
    buildTakes: 'about 1 minute',
  },
  kubeApiserver: {
    name: 'kube-apiserver',
    env: 'VMFLOW_KUBE_APISERVER_BIN',
    onPath: 'kube-apiserver',
    module: 'kubernetes',
    package: 'k8s.io/kubernetes/cmd/kube-apiserver',
    ldflags: kubernetesFlags,
    buildTakes: 'about 5 minutes',
  },
  kubeScheduler: {
    name: 'kube-scheduler',
    env: 'VMFLOW_KUBE_SCHEDULER_BIN',
    onPath: 'kube-scheduler',
    module: 'kubernetes',
    package: 'k8s.io/kubernetes/cmd/kube-scheduler',
    ldflags: kubernetesFlags,
    buildTakes: 'half a minute where kube-apiserver was built, else about 5 minutes',
  },
  registry: {
    name: 'registry',
    env: 'VMFLOW_REGISTRY_BIN',
    module: 'registry',
    package: 'github.com/distribution/distribution/v3/cmd/registry',
    ldflags: '-s -w -X github.com/distribution/distribution/v3/version.version=v3.1.2',
    buildTakes: 'about 2 minutes',
  },
  kustomize: {
    name: 'kustomize',
    env: 'VMFLOW_KUSTOMIZE_BIN',
    onPath: 'kustomize',
    module: 'kustomize',
    package: 'sigs.k8s.io/kustomize/kustomize/v5',
    ldflags: '-s -w',
    buildTakes: 'half a minute',
  },
  compose: {
    name: 'compose',
    env: 'VMFLOW_COMPOSE_BIN',
    module: 'compose',
    package: '.',
    ldflags: '-s -w',
    buildTakes: 'about 10 seconds',
  },
  temporalServer: {
    name: 'temporal-server',
    env: 'VMFLOW_TEMPORAL_SERVER_BIN',
    module: 'temporal-server',
    package: 'go.temporal.io/server/cmd/server',
    ldflags: '-s -w',
    toolchain: 'go1.27.3',
    buildTakes: 'about 4 minutes',
  },
  temporalSqlTool: {
    name: 'temporal-sql-tool',
    env: 'VMFLOW_TEMPORAL_SQL_TOOL_BIN',
    module: 'temporal-server',
    package: 'go.temporal.io/server/cmd/tools/sql',
    ldflags: '-s -w',
    toolchain: 'go1.27.3',
    buildTakes: 'half a minute where temporal-server was built, else about 3 minutes',
  },
  temporalUi: {
    name: 'ui-server',
    env: 'VMFLOW_TEMPORAL_UI_BIN',
    module: 'temporal-ui',
    package: 'github.com/temporalio/ui-server/v2/cmd/server',
    ldflags: '-s -w',
    toolchain: 'go1.27.3',
    buildTakes: 'about 1 minute',
  },
  temporalTestServer: {
    name: 'temporal-test-server',
    env: 'VMFLOW_TEMPORAL_TEST_SERVER_BIN',
    module: 'temporal-test-server',
    package: '.',
    isJava: true,
    buildTakes: 'about 20 seconds',
  },
  promtool: {
    name: 'promtool',
    env: 'VMFLOW_PROMTOOL_BIN',
    onPath: 'promtool',
    packages: ['prometheus'],
    unpacked: 'usr/bin/promtool',
  },
  qemuImg: {
    name: 'qemu-img',
    env: 'VMFLOW_QEMU_IMG_BIN',
    onPath: 'qemu-img',
    packages: ['qemu-utils'],
  },
  qemuNbd: {
    name: 'qemu-nbd',
    env: 'VMFLOW_QEMU_NBD_BIN',
    onPath: 'qemu-nbd',
    packages: ['qemu-utils'],
  },
  nbdcopy: {
    name: 'nbdcopy',
    env: 'VMFLOW_NBDCOPY_BIN',
    onPath: 'nbdcopy',
    packages: ['libnbd-bin'],
  },
  qemuSystem: {
    name: 'qemu-system-x86_64',
    env: 'VMFLOW_QEMU_SYSTEM_BIN',
    onPath: 'qemu-system-x86_64',
    packages: ['qemu-system-x86'],
  },
  postgres: {
    name: 'postgres',
    env: 'VMFLOW_POSTGRES_BIN',
    onPath: 'postgres',
    elsewhere: '/usr/lib/postgresql/*/bin/postgres',
    packages: ['postgresql'],
    // It refuses to run as root, and only root may become somebody else; the user comes with the package.
    needsRoot: true,
  },
  lxd: {
    name: 'lxd',
    env: 'VMFLOW_LXD_BIN',
    onPath: 'lxd',
    // Without the others it manages no bridge.
    packages: ['lxd', 'dnsmasq-base', 'iproute2', 'iptables', 'nftables'],
    needsRoot: true,
  },
} as const satisfies Record<string, Tool | DebianTool>;

/** Puts the demo together: sample backends, an API server with their Services, and the daemon in userspace mode. */
import { UserspaceBackend } from '../../backends/userspace/userspace-backend.ts'
import { parseDaemonCommandLine } from '../../config/daemon/parse-daemon-command-line.ts'
import type { DaemonOptions } from '../../config/daemon/parse-daemon-command-line.ts'
import { silentLogger } from '../../core/logger.ts'
import { NodeRelay } from '../../dataplane/relay/node/node-relay.ts'
import { ApiServerError } from '../../embedded/api-server-error.ts'
import { startApiServer } from '../../embedded/api-server.ts'
import type { ApiServer } from '../../embedded/api-server.ts'
import { JournalError } from '../../embedded/journal/journal-error.ts'
import { allResources } from '../../embedded/resources/all-resources.ts'
import type { RootLogger } from '../../observe/logging/create-logger.ts'
import { KubeClient } from '../../sources/kube/kube-client.ts'
import { loadKubeAccess } from '../../sources/kube/access/kube-access.ts'
import type { Daemon } from '../daemon/daemon.ts'
import { loadConfig } from '../daemon/load-config.ts'
import { runDaemon } from '../daemon/run-daemon.ts'
import { loggerFor } from '../host/logger-for.ts'
import type { Mode } from '../modes/mode.ts'
import { userspaceMode } from '../modes/userspace-mode.ts'
import { plainLogger } from '../plain-logger.ts'
import { noProgress } from '../progress.ts'
import { CommandError, fairleadVersion } from '../program.ts'
import type { Program } from '../program.ts'
import { runWith } from '../run-all.ts'
import { traceTarget } from '../tracing/trace-target.ts'
import { announcingBackend } from './announcing-backend.ts'
import type { Announce } from './announcing-backend.ts'
import type { DemoFolder } from './demo-folder.ts'
import {
  renderChange,
  renderClosedNodePorts,
  renderConsole,
  renderHints,
  renderMovedPorts,
  renderServices,
} from './demo-screen.ts'
import { freePort, isFree } from './free-port.ts'
import { loadObjects } from './load-objects.ts'
import { openDemoConsole } from './open-demo-console.ts'
import { demoNode, startSampleApplication } from './sample-application.ts'
import { RunningConfig } from '../../config/live/running-config.ts'

export interface Demo {
  readonly apiPort: number
  /** 0: any free one. */
  readonly consolePort: number
  /** Empty: in memory. */
  readonly dataDir: string
  readonly verbosity: number
  /** Where files for the user go. */
  readonly folder: DemoFolder
  readonly program: Program
}

const loopback = '127.0.0.1'

export async function runDemo(demo: Demo, signal: AbortSignal): Promise<void> {
  const { program, folder } = demo
  const { host } = program
  // Log lines and a progress line would be mixed up on the terminal.
  using progress = demo.verbosity > 0 ? noProgress : program.progress('starting the demo')
  const metricsAddress = `${loopback}:${await freePort(loopback)}`
  const consolePort = (await isFree(loopback, demo.consolePort)) ? demo.consolePort : 0
  const options = daemonOptions(demo, { metricsAddress, consoleAddress: `${loopback}:${consolePort}` })
  const { config } = await loadConfig(options, host)
  await using application = await startSampleApplication()
  await using server = await startServer(demo)
  await loadObjects(server.url, [demoNode, ...application.objects])
  await folder.writeKubeconfig(server.url)
  await folder.writeManifests(application.manifests)

  await using client = await clientOf(demo)
  const { servers } = application
  const demoConsole = await openDemoConsole({
    client,
    apiServer: server,
    servers,
    kubeconfig: folder.kubeconfig,
    clock: host.clock,
  })

  // The first thing that is said is where the console is. It listens a moment before or after the first sync.
  let sayWhere = (_url: string) => {}
  let saying = new Promise<string>((resolve) => (sayWhere = resolve))
  const say = (texts: (consoleUrl: string) => readonly string[]) => {
    saying = saying.then((url) => {
      progress[Symbol.dispose]()
      program.out(texts(url).join(''))
      return url
    })
  }
  // The sample Services are IPv4; the first word about them is the table, the rest are changes to it.
  const announce: Announce = (served, isFirst, family) => {
    demoConsole.noteServed(served)
    const isTable = isFirst && family === 'ipv4'
    say((consoleUrl) =>
      isTable
        ? [
            renderConsole(consoleUrl, demo.consolePort),
            renderMovedPorts(served),
            renderServices(served, program.stdout),
            renderClosedNodePorts(served),
            renderHints({ kubeconfig: folder.kubeconfig, manifests: folder.manifests, metricsAddress }),
          ]
        : [...served.map((it) => renderChange(it, program.stdout)), renderClosedNodePorts(served)],
    )
  }
  const log = demo.verbosity > 0 ? loggerFor(config.logging, host) : onlyTrouble(program)
  await using relay = new NodeRelay({ log, clock: host.clock, settings: { shutdownGraceMs: 0 } })
  const announcing = () =>
    announcingBackend(new UserspaceBackend({ relay, listen: { kind: 'loopback' }, log }), announce)
  const announcingMode: Mode = {
    ...userspaceMode,
    onNode: (context) => ({
      ...userspaceMode.onNode(context),
      createBackend: () => Promise.resolve({ backend: announcing(), afterSync: [] }),
    }),
  }
  const daemon: Daemon = {
    ...options,
    config,
    running: new RunningConfig(config),
    file: undefined,
    mode: announcingMode,
    flags: {},
    isInitOnly: false,
    traceTarget: traceTarget('', host.env),
    version: fairleadVersion(),
    host,
    log,
    // There is one node, and somebody who waits for it.
    longestPauseMs: 1_000,
    consoleDemo: { ...demoConsole, onListening: (url) => sayWhere(url) },
  }
  await runWith(demoConsole, (running) => runDaemon(daemon, running), signal)
}

/** As kubectl would reach the API server. */
async function clientOf({ folder, program: { host } }: Demo): Promise<KubeClient> {
  const { kubeconfig } = folder
  const access = await loadKubeAccess({ kubeconfig, env: {}, clock: host.clock })
  return new KubeClient({ access, version: fairleadVersion(), qps: -1, clock: host.clock })
}

/** The daemon's own command line, so that the demo runs what a node runs. */
function daemonOptions(
  { folder, verbosity, program }: Demo,
  { metricsAddress, consoleAddress }: { readonly metricsAddress: string; readonly consoleAddress: string },
): DaemonOptions {
  const parsed = parseDaemonCommandLine(
    [
      '--proxy-mode=userspace',
      `--kubeconfig=${folder.kubeconfig}`,
      `--hostname-override=${demoNode.object.metadata.name}`,
      `--node-address=${loopback}`,
      `--metrics-bind-address=${metricsAddress}`,
      `--console-bind-address=${consoleAddress}`,
      '--healthz-port=0',
      '--debug-socket=none',
      '--nodeport-addresses=127.0.0.0/8',
      // A change shows at once; on a node a second in between saves work.
      '--iptables-min-sync-period=0s',
      '--kube-api-qps=-1',
      '--oom-score-adj=0',
      `--v=${verbosity}`,
    ],
    program.host.platform,
  )
  if (parsed.kind !== 'run') throw new Error(`the demo's own flags are refused: ${JSON.stringify(parsed)}`)
  return parsed.options
}

/** Warnings and errors only: newcomers read the table, and -v shows the rest. */
function onlyTrouble(program: Program): RootLogger {
  const logger: RootLogger = {
    ...plainLogger(program),
    info() {},
    child: () => logger,
    verbosity: 0,
    setVerbosity() {},
    configure() {},
    flush() {},
  }
  return logger
}

async function startServer({ apiPort, dataDir, program }: Demo): Promise<ApiServer> {
  const options = {
    resources: allResources,
    clock: program.host.clock,
    log: silentLogger,
    host: loopback,
    ...(dataDir !== '' && { dataDir }),
  }
  try {
    return await startApiServer({ ...options, port: apiPort })
  } catch (error) {
    if (isDiskProblem(error))
      throw new CommandError(`--data-dir=${dataDir} cannot be used: ${error.message}`, { cause: error })
    if (!(error instanceof ApiServerError)) throw error
    if (error.reason !== 'port-in-use') throw new CommandError(error.message, { cause: error })
    const server = await startApiServer({ ...options, port: 0 })
    program.out(`Port ${apiPort} is in use; the API server listens at ${server.url} instead.\n`)
    return server
  }
}

/** Whether the operating system or the journal refused the directory; anything else is a bug. */
function isDiskProblem(error: unknown): error is Error {
  return error instanceof JournalError || (error instanceof Error && 'syscall' in error)
}

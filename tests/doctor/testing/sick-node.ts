/** A node in a network namespace of its own, healthy until a test damages it, and the doctor that examines it. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Finding } from '../../../src/cli/doctor/finding.ts'
import { missingPrograms } from '../../packet/testing/iptables-variant.ts'
import { Namespace, namespaceProblem } from '../../packet/testing/namespace.ts'

const program = fileURLToPath(new URL('../../../bin/fairlead.js', import.meta.url))

/** Nothing of the machine that a namespace shares with others is changed. */
const daemonFlags = [
  '--hostname-override=node-a',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
]

export interface Examined {
  readonly findings: readonly Finding[]
  readonly exitCode: number
  /** Of errors and warnings, sorted. */
  readonly names: readonly string[]
}

const programs = ['ip', 'nft', 'iptables', 'ip6tables', 'iptables-nft', 'ip6tables-nft', 'iptables-legacy', 'setpriv']

/** Why no node is healthy on this machine, whatever a test does, or undefined. */
export function sickNodeProblem(): string | undefined {
  const problem = namespaceProblem() ?? missingPrograms(...programs, 'prlimit', 'bash')
  if (problem !== undefined) return problem
  if (!existsSync('/proc/sys/net/ipv6')) return 'the kernel has no IPv6'
  if (!existsSync('/proc/sys/net/netfilter/nf_conntrack_max')) return 'the kernel does not track connections'
  const version = spawnSync(realProgram('iptables-nft'), ['--version'], { encoding: 'utf8' }).stdout
  return /v1\.8\.[0128] /.test(version) ? `the doctor warns of ${version.trim()}` : undefined
}

/** The file of a program, for one of the same name that stands before it. */
export function realProgram(name: string): string {
  return spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
}

/** Nothing that the machine's user has set: proxies, kubeconfigs, options of Node and of OpenTelemetry. */
const environment = { PATH: process.env['PATH'], HOME: '/root', LC_ALL: 'C' }

/** The userspace mode wants more than some machines give; what this process may do, the node may. */
function raiseOpenFiles(): void {
  if (!isRaised) spawnSync('prlimit', ['--pid', String(process.pid), '--nofile=65536:65536'])
  isRaised = true
}

let isRaised = false

type Child = ReturnType<Namespace['start']>

export class SickNode implements AsyncDisposable {
  readonly namespace = Namespace.make()
  readonly folder = mkdtempSync(join(tmpdir(), 'fairlead-doctor-'))
  readonly #children: Child[] = []
  /** Run before the doctor, in its own mount namespace. The limits of the test's own control group are not the node's. */
  readonly #mounts: string[] = ['test ! -d /sys/fs/cgroup || mount -t tmpfs none /sys/fs/cgroup']
  readonly #env: NodeJS.ProcessEnv = { ...environment, XTABLES_LOCKFILE: join(this.folder, 'xtables.lock') }
  readonly #daemonFlags: readonly string[]
  #starter: readonly string[] = []
  #objects: readonly unknown[] = healthyObjects

  constructor() {
    raiseOpenFiles()
    // A new namespace has those of the machine.
    for (const setting of ['rp_filter', 'route_localnet'])
      for (const which of ['all', 'default']) this.namespace.setSysctl(`ipv4.conf.${which}.${setting}`, 0)
    for (const which of ['all', 'default']) this.namespace.setSysctl(`ipv6.conf.${which}.disable_ipv6`, 0)
    this.namespace.ip(
      'link add eth0 type veth peer name out0',
      'addr add 192.0.2.10/24 dev eth0',
      'addr add 2001:db8::10/64 dev eth0 nodad',
      'link set eth0 up',
      'link set out0 up',
      'route add default via 192.0.2.1',
    )
    this.namespace.setSysctl('ipv4.ip_forward', 1)
    this.namespace.setSysctl('ipv6.conf.all.forwarding', 1)
    // Another Fairlead of this machine may have the usual one.
    this.#daemonFlags = [...daemonFlags, `--debug-socket=${this.folder}/debug.sock`]
  }

  run(script: string): string {
    return this.namespace.run('sh', ['-ec', script])
  }

  objects(...objects: readonly unknown[]): void {
    this.#objects = objects
  }

  file(name: string, text: string, mode = 0o644): string {
    const path = join(this.folder, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }

  /** The doctor sees the text in the place of the file. */
  replace(path: string, text: string): void {
    this.mount(`mount --bind ${this.file(`replaced-${this.#mounts.length}`, text)} ${path}`)
  }

  /** The doctor finds none of the packages that Fairlead can do without, as on a processor for which they do not exist. */
  withoutNativeCode(): void {
    this.mount(`mount -t tmpfs none ${fileURLToPath(new URL('../../../node_modules/koffi', import.meta.url))}`)
  }

  mount(command: string): void {
    this.#mounts.push(command)
  }

  /** A program that comes before the one of the system. */
  tool(name: string, script: string): void {
    this.file(`bin/${name}`, `#!/bin/sh\n${script}\n`, 0o755)
    this.#env['PATH'] = `${this.folder}/bin:${process.env['PATH']}`
  }

  /** What starts the doctor: a program with arguments. */
  startedBy(...starter: readonly string[]): void {
    this.#starter = starter
  }

  /** Starts a program and waits until it prints a line. */
  async start(command: string, ...args: readonly string[]): Promise<void> {
    const child = this.namespace.start(command, args, this.#env)
    this.#children.push(child)
    await new Promise<void>((resolve, reject) => {
      let errors = ''
      child.stdout.once('data', () => resolve())
      child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()))
      child.once('exit', () => reject(new Error(`${command} ended: ${errors}`)))
    })
  }

  /** Starts the proxy and waits until it is healthy, with its rules in place. */
  async daemon(mode: string, ...flags: readonly string[]): Promise<void> {
    const child = this.namespace.start(process.execPath, [program, ...this.flags(mode), ...flags], this.#env)
    this.#children.push(child)
    let log = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (log += piece.toString()))
    await new Promise<void>((resolve, reject) => {
      child.once('exit', () => reject(new Error(`the daemon ended:\n${log}`)))
      this.#untilProgrammed().then(resolve, reject)
    })
  }

  flags(mode: string): readonly string[] {
    const items = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: this.#objects })
    return [`--proxy-mode=${mode}`, ...this.#daemonFlags, `--objects=${this.file('objects.json', items)}`]
  }

  async examine(...args: readonly string[]): Promise<Examined> {
    const doctor = [...this.#starter, process.execPath, program, 'doctor', '-o', 'json', ...args]
    const script = [...this.#mounts, `exec ${doctor.map((word) => `'${word}'`).join(' ')}`].join('\n')
    const child = this.namespace.start('unshare', ['--mount', 'sh', '-ec', script], this.#env)
    let [output, errors] = ['', '']
    child.stdout.on('data', (piece: Buffer) => (output += piece.toString()))
    child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()))
    const exitCode = await new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)))
    if (!output.startsWith('{')) throw new Error(`the doctor said nothing (exit code ${exitCode}): ${errors}`)
    const { findings } = JSON.parse(output) as { readonly findings: readonly Finding[] }
    const bad = findings.filter(({ severity }) => severity !== 'note').map(({ name }) => name)
    return { findings, exitCode, names: [...new Set(bad)].sort() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = new Promise((resolve) => child.once('close', resolve))
        child.kill('SIGKILL')
        await ended
      }),
    )
    this.namespace[Symbol.dispose]()
    rmSync(this.folder, { recursive: true })
  }

  async #untilProgrammed(): Promise<void> {
    const ask = `
      const isDone = async () => {
        const text = await (await fetch('http://127.0.0.1:10249/metrics')).text()
        const counts = text.matchAll(/^kubeproxy_sync_proxy_rules_duration_seconds_count\\S* (\\d+)/gm)
        return [...counts].filter(([, count]) => Number(count) > 0).length === 2
      }
      while (!(await isDone().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 50))
      console.log('done')`
    await this.start(process.execPath, '--input-type=module', '-e', ask)
  }
}

export function service(name: string, clusterIP: string, spec: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'demo' },
    spec: {
      type: 'ClusterIP',
      selector: { app: name },
      clusterIP,
      clusterIPs: [clusterIP],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      ...spec,
    },
  }
}

export function slice(of: string, change: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${of}-1`, namespace: 'demo', labels: { 'kubernetes.io/service-name': of } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [
      { addresses: ['10.64.0.5'], nodeName: 'node-a', conditions: { ready: true } },
      { addresses: ['10.64.1.5'], nodeName: 'node-b', conditions: { ready: true } },
    ],
    ...change,
  }
}

export const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-a' },
  spec: { podCIDRs: ['10.64.0.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.10' }] },
}

export const web = service('web', '10.96.0.10', {
  type: 'NodePort',
  ports: [{ name: 'http', port: 80, nodePort: 30080, protocol: 'TCP' }],
})

export const healthyObjects = [node, web, slice('web')]

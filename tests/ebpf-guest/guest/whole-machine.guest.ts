/**
 * Fairlead on a machine that is all its own, told nothing but its mode and its objects. Where it attaches and where it pins it
 * finds by itself: the root of all cgroups, and the usual BPF file system.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { attachTypes } from '../../../src/dataplane/ebpf/bpf.ts'
import { openBpf } from '../../../src/dataplane/ebpf/open-bpf.ts'
import { TemporaryFolder } from '../../../src/sources/kube/testing/temporary-folder.ts'
import { ClientSocket } from '../../ebpf/testing/client-socket.ts'
import { manifest, node, service, slice } from '../../e2e/testing/objects.ts'
import { listenTcp } from '../../packet/testing/echo-server.ts'
import { fairleadProgram } from '../../packet/testing/fairlead.ts'
import { limitedTo } from '../../packet/testing/limited-to.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { NodeProcess } from '../../packet/testing/node-process.ts'

const [usualCgroups, usualPins] = ['/sys/fs/cgroup', '/sys/fs/bpf/fairlead']
const ownCgroups = '/run/fairlead/cgroup2'
const podIP = '10.64.0.1'
/** The guest has no route there: without programs at sockets, the call itself fails. */
const serviceIP = '10.96.0.10'
const place = `${serviceIP}:80`
const patience = { timeout: Number(process.env['PROGRAMMING_DEADLINE_MS'] ?? 50_000), interval: 100 }

let machine: Namespace
let objects: TemporaryFolder
let pod: Disposable
beforeAll(async () => {
  machine = Namespace.own()
  machine.ip(`address add ${podIP}/32 dev lo`)
  pod = listenTcp(machine, 'pod', 8080)
  objects = await TemporaryFolder.make()
  const web = [service('web', 80, { clusterIP: serviceIP }), slice('web', 8080, { addresses: [podIP] })]
  await objects.write('objects.yaml', manifest(node('node1'), ...web))
})
afterAll(async () => {
  pod?.[Symbol.dispose]()
  machine?.ip(`address del ${podIP}/32 dev lo`)
  machine?.[Symbol.dispose]()
  await objects?.[Symbol.asyncDispose]()
})

/** The starter is a program, with arguments, that runs the one named after it. */
function start(...starter: readonly string[]): NodeProcess {
  const flags = ['--proxy-mode=ebpf', `--objects=${objects.path}`]
  const [first = '', ...rest] = [...starter, process.execPath, fairleadProgram, ...flags]
  return new NodeProcess(machine, first, rest)
}

async function complaintOf(...starter: readonly string[]): Promise<string> {
  await using fairlead = start(...starter)
  await expect.poll(() => fairlead.isRunning, patience).toBe(false)
  expect(await fairlead.ended()).toBe(1)
  return fairlead.output
}

async function serves(fairlead: NodeProcess): Promise<void> {
  await vi
    .waitUntil(() => !fairlead.isRunning || connectOnce() === 'ok', patience)
    .catch((cause: unknown) => {
      throw new Error(`${place} cannot be reached:\n${fairlead.output}`, { cause })
    })
  using socket = ClientSocket.tcp(machine)
  expect([socket.connect(place), fairlead.isRunning ? '' : fairlead.output]).toEqual(['ok', ''])
  expect(socket.peer).toBe(place)
  expect(await socket.read()).toEqual({ answeredBy: 'pod', sawSource: podIP, port: 8080 })
}

function connectOnce(): string {
  using socket = ClientSocket.tcp(machine)
  return socket.connect(place)
}

async function attachedAt(cgroup: string): Promise<readonly string[]> {
  const bpf = await openBpf()
  const isAt = await Promise.all(attachTypes.map(async (type) => (await bpf.attached(cgroup, type)).length > 0))
  return attachTypes.filter((_, index) => isAt[index])
}

function pinnedLinks(): readonly string[] {
  const [layout = ''] = readdirSync(usualPins)
  return readdirSync(join(usualPins, layout, 'links')).toSorted()
}

describe('with cgroup v2', () => {
  test('it serves all of the machine, and --cleanup leaves no program and no pin', async () => {
    expect(connectOnce()).toBe('ENETUNREACH')
    expect(await attachedAt(usualCgroups)).toEqual([])
    await using fairlead = start()
    await serves(fairlead)
    expect(await attachedAt(usualCgroups)).toEqual(attachTypes)
    expect(pinnedLinks()).toEqual(attachTypes.toSorted())
    await fairlead.stop('SIGTERM')
    await using cleaning = new NodeProcess(machine, process.execPath, [fairleadProgram, '--cleanup'])
    expect([await cleaning.ended(), cleaning.output]).toEqual([0, expect.stringContaining(usualPins)])
    expect(await attachedAt(usualCgroups)).toEqual([])
    expect(existsSync(usualPins)).toBe(false)
    expect(connectOnce()).toBe('ENETUNREACH')
  })

  test('a node with a network of its own does not take the machine for its own', async () => {
    expect(await complaintOf('unshare', '--net')).toContain(
      `cannot attach programs to ${usualCgroups}: it has the processes of other nodes, too; name the cgroup of this node with --ebpf-cgroup`,
    )
    expect(await attachedAt(usualCgroups)).toEqual([])
  })
})

describe('with cgroup v1 only, and without a BPF file system', () => {
  beforeAll(() => {
    inShell(
      'umount /sys/fs/bpf',
      `umount ${usualCgroups}`,
      `mount -t tmpfs cgroup ${usualCgroups}`,
      `mkdir ${usualCgroups}/pids`,
      `mount -t cgroup -o pids cgroup ${usualCgroups}/pids`,
    )
  })
  afterAll(() => {
    inShell(
      `if mountpoint -q ${ownCgroups}; then umount ${ownCgroups}; fi`,
      `umount ${usualCgroups}/pids ${usualCgroups}`,
      `mount -t cgroup2 cgroup2 ${usualCgroups}`,
      // What is pinned there ends with it, and what is attached.
      'if mountpoint -q /sys/fs/bpf; then umount /sys/fs/bpf; fi',
      'mount -t bpf bpf /sys/fs/bpf',
    )
  })

  test('it says what to do where it may not mount', async () => {
    expect(await complaintOf(...limitedTo(['NET_ADMIN', 'BPF', 'PERFMON']))).toContain(
      "cannot attach programs: no cgroup v2 is mounted, nor can it be (EPERM); mount the host's /sys/fs/cgroup into the container, and cgroup2 on a host that has version 1 only",
    )
  })

  test('it mounts both, and serves', async () => {
    await using fairlead = start()
    await serves(fairlead)
    expect(await attachedAt(ownCgroups)).toEqual(attachTypes)
    expect(pinnedLinks()).toEqual(attachTypes.toSorted())
  })
})

function inShell(...lines: readonly string[]): void {
  machine.run('sh', ['-e'], { input: lines.join('\n') })
}

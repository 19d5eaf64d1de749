/** The programs of the ebpf mode at work: a node with pods, and this process in a cgroup that has the hooks. */
import { dirname } from 'node:path'
import { afterAll, beforeEach } from 'vitest'
import { builtObject, missingForObject } from '../../../src/backends/ebpf/testing/built-object.ts'
import { KernelSite, missingForBpf } from '../../../src/dataplane/ebpf/testing/kernel-site.ts'
import { families } from '../../../src/net/ip.ts'
import { eventually } from '../../e2e/testing/eventually.ts'
import { missingPrograms } from '../../packet/testing/iptables-variant.ts'
import { namespaceProblem } from '../../packet/testing/namespace.ts'
import { describeUnless } from '../../packet/testing/proxies.ts'
import { ClientSocket } from './client-socket.ts'
import { Hooks } from './hooks.ts'
import { JoinedCgroup } from './joined-cgroup.ts'
import { Lab, serverPlaces } from './lab.ts'

/** Tests with empty tables at the beginning of each. Skipped by name where they cannot run. */
export async function describeSockets(name: string, tests: (lab: SocketLab) => void, variant?: '-old'): Promise<void> {
  const problem = await socketTestProblem()
  const lab = problem === undefined ? await SocketLab.open(variant) : undefined
  describeUnless(problem, name, () => {
    if (lab === undefined) return
    afterAll(() => lab[Symbol.dispose]())
    beforeEach(() => lab.hooks.clear())
    tests(lab)
  })
}

/** Why these tests cannot run here, or undefined when they can. */
export async function socketTestProblem(): Promise<string | undefined> {
  if (missingForObject !== '') return `not found: ${missingForObject}`
  return namespaceProblem() ?? missingPrograms('ip', 'setpriv') ?? (await missingForBpf())
}

class SocketLab implements Disposable {
  readonly nodes: Lab
  readonly hooks: Hooks
  readonly #open: readonly Disposable[]

  private constructor(nodes: Lab, hooks: Hooks, open: readonly Disposable[]) {
    this.nodes = nodes
    this.hooks = hooks
    this.#open = open
  }

  static async open(variant: '' | '-old' = ''): Promise<SocketLab> {
    const object = await builtObject()
    const site = await KernelSite.open()
    const open: Disposable[] = [site]
    try {
      const cgroup = site.makeCgroup('sockets')
      open.unshift(new JoinedCgroup(cgroup, dirname(cgroup)))
      const nodes = new Lab()
      open.unshift(nodes)
      await linksWork(nodes)
      const hooks = await Hooks.attach(site.bpf, object, cgroup, { hostNetns: cookieOf(nodes), variant })
      return new SocketLab(nodes, hooks, [hooks, ...open])
    } catch (error) {
      for (const part of open) part[Symbol.dispose]()
      throw error
    }
  }

  [Symbol.dispose](): void {
    for (const part of this.#open) part[Symbol.dispose]()
  }
}

/** New links need a moment before they carry packets. */
export async function linksWork({ host, pod, neighbour }: Lab): Promise<void> {
  for (const namespace of [host, pod, neighbour])
    for (const family of families)
      await eventually(() => {
        using socket = ClientSocket.tcp(namespace, family)
        const outcome = socket.connect(serverPlaces[family][0])
        if (outcome !== 'ok') throw new Error(`the servers cannot be reached: ${outcome}`)
      })
}

function cookieOf({ host }: Lab): bigint {
  using socket = ClientSocket.udp(host)
  return socket.netns
}

import { describe, expect, test } from 'vitest'
import { IptablesError } from '../../dataplane/iptables/iptables.ts'
import type { Iptables } from '../../dataplane/iptables/iptables.ts'
import type { Removal } from '../../core/leftover.ts'
import { missingForNamespace, run } from '../../dataplane/netlink/testing/network-namespace.ts'
import { thisHost } from '../host/this-host.ts'
import { unwatched } from '../program.ts'
import { cleanupCommand } from './cleanup-command.ts'
import { openDoors } from './cleanup-doors.ts'
import { findLeftovers } from './find-leftovers.ts'
import { removeLeftovers } from './remove-leftovers.ts'
import {
  addKubelet,
  commands,
  eachOnFreshNode,
  kernelState,
  loadIpsetGoldens,
  loadAnswerRules,
  loadIptablesGoldens,
  loadNftGoldens,
  neededPrograms,
  variants,
} from './testing/kernel.ts'
import type { Variant } from './testing/kernel.ts'

const { signal } = new AbortController()
const missing = missingForNamespace(...neededPrograms)
const where = missing === undefined ? 'in a network namespace' : `in a network namespace (skipped: ${missing})`

/** The machine's own are not for a test. */
const noPins = '/sys/fs/bpf/fairlead-test-nowhere'

describe.skipIf(missing !== undefined)(`clean-up ${where}`, () => {
  eachOnFreshNode()

  test('a node without leftovers keeps its state and is told so', async () => {
    const before = kernelState()
    for (const isDryRun of [true, false])
      expect(await cleanup(isDryRun)).toEqual({ code: 0, out: 'Nothing to remove.\n', err: '' })
    expect(kernelState()).toBe(before)
  })

  test('looking does not load legacy tables that nobody uses', async () => {
    await cleanup(false)
    expect(run('cat /proc/net/ip_tables_names /proc/net/ip6_tables_names')).toBe('')
  })

  test('beside a kube-proxy of any mode, only the tables of Fairlead go if nothing else is wanted', async () => {
    loadNftGoldens()
    for (const variant of variants) loadIptablesGoldens(variant)
    run('nft list table ip kube-proxy')
    const before = kernelState()
    run(`nft 'add table ip fairlead; add chain ip fairlead services; add table ip6 fairlead'`)
    const told = (verb: string) =>
      ['ip', 'ip6']
        .map((family) => `${verb} nft: table ${family} fairlead (all that the nftables mode of Fairlead makes)\n`)
        .join('')
    expect(await cleanup(true, true)).toEqual({ code: 0, out: told('would remove'), err: '' })
    expect(await cleanup(false, true)).toEqual({ code: 0, out: told('removed'), err: '' })
    expect(kernelState()).toBe(before)
    expect(await cleanup(false, true)).toEqual({ code: 0, out: 'Nothing to remove.\n', err: '' })
  })

  for (const variant of variants) {
    test(`all rules of iptables mode go from ${variant}, and all others stay`, async () => {
      addForeignRules(variant)
      const { seen, wanted } = await lifeOf(() => loadIptablesGoldens(variant))
      expect(seen).toEqual(wanted)
    })

    test(`all rules of iptables mode go from ${variant} where nobody else has any`, async () => {
      const { seen, wanted } = await lifeOf(() => loadIptablesGoldens(variant))
      expect(seen).toEqual(wanted)
    })

    test(`what lets pods see the client goes from ${variant} and from the routing, and all others stay`, async () => {
      addForeignRules(variant)
      run('ip rule add priority 91 fwmark 0x1000/0x1000 lookup 4097')
      const { seen, wanted } = await lifeOf(() => loadAnswerRules(variant))
      expect(seen).toEqual(wanted)
    })

    test(`with a kubelet in ${variant}, what it shares with a proxy stays`, async () => {
      addKubelet(variant)
      const { seen, wanted } = await lifeOf(() => loadIptablesGoldens(variant, { hasKubelet: true }))
      expect(seen).toEqual(wanted)
    })

    test(`all rules of the userspace mode go from ${variant}, and all others stay`, async () => {
      addForeignRules(variant)
      const { seen, wanted } = await lifeOf(() => loadIptablesGoldens(variant, { mode: 'userspace-' }))
      expect(seen).toEqual(wanted)
    })

    test(`all rules and sets of the ipvs mode go from ${variant}, and all others stay`, async () => {
      addForeignRules(variant)
      run('ipset create KUBE-MINE hash:ip; ipset add KUBE-MINE 192.0.2.1; ipset create others hash:ip')
      const { seen, wanted } = await lifeOf(() => {
        loadIpsetGoldens()
        loadIptablesGoldens(variant, { mode: 'ipvs-' })
      })
      expect(seen).toEqual(wanted)
    })

    test(`a chain of ours that a rule of others jumps to stays in ${variant}, empty, and the rule is named`, async () => {
      for (const command of commands) run(`${command}-${variant} -t nat -N CNI-HOSTPORT`)
      const before = kernelState()
      loadIptablesGoldens(variant)
      for (const command of commands) run(`${command}-${variant} -t nat -A CNI-HOSTPORT -p tcp -g KUBE-MARK-MASQ`)

      const dryRun = await cleanup(true)
      const { code, out, err } = await cleanup(false)
      expect([dryRun.code, code]).toEqual([1, 1])
      expect(out).toBe(dryRun.out.replaceAll('would remove', 'removed'))
      expect(err).toBe(
        commands
          .map(
            (command) =>
              `Error: ${command}-${variant} nat: chain KUBE-MARK-MASQ stays, but is emptied, because a foreign ` +
              'rule jumps to it. Delete it and clean up again: -A CNI-HOSTPORT -p tcp -g KUBE-MARK-MASQ\n',
          )
          .join(''),
      )
      for (const command of commands)
        expect(run(`${command}-${variant} -t nat -S`).match(/KUBE-[A-Z-]+/g)).toEqual([
          'KUBE-MARK-MASQ',
          'KUBE-MARK-MASQ',
        ])

      for (const command of commands) run(`${command}-${variant} -t nat -F CNI-HOSTPORT`)
      expect(await cleanup(false)).toMatchObject({ code: 0, err: '' })
      expect(kernelState()).toBe(before)
    })
  }

  test('both variants are cleaned up, whichever the kubelet uses', async () => {
    addKubelet('nft')
    const { seen, wanted } = await lifeOf(() => {
      loadIptablesGoldens('nft', { hasKubelet: true })
      loadIptablesGoldens('legacy')
    })
    expect(seen).toEqual(wanted)
  })

  test('the tables of the nftables mode go, and those of others stay', async () => {
    run('nft add table inet kube-proxy; nft add table ip kube-proxy-notes; nft add table ip others')
    const { seen, wanted } = await lifeOf(() => {
      loadNftGoldens()
      run('nft add table ip fairlead; nft add table ip6 fairlead')
    })
    expect(seen).toEqual(wanted)
  })

  test('a set that a rule of others asks for stays, and the rule is named', async () => {
    loadIpsetGoldens()
    run('iptables-nft -A INPUT -m set --match-set KUBE-CLUSTER-IP dst,dst -j DROP')
    const { code, err } = await cleanup(false)
    expect([code, err]).toEqual([
      1,
      'Error: ipset KUBE-CLUSTER-IP stays because a foreign rule uses it: "-A INPUT -m set ' +
        '--match-set KUBE-CLUSTER-IP dst,dst -j DROP"\n',
    ])
    expect(run('ipset list -n')).toBe('KUBE-CLUSTER-IP\n')
  })

  test('a policy that is not "accept" stays, and so does the chain that has it', async () => {
    run('iptables-nft -P FORWARD DROP')
    const { seen, wanted } = await lifeOf(() => loadIptablesGoldens('nft'))
    expect(seen).toEqual(wanted)
  })

  test('sets of others in a table of iptables stay, and so does an empty chain that had no jump of ours', async () => {
    run("nft add table ip nat; nft add set ip nat mine '{ type ipv4_addr; elements = { 192.0.2.1 }; }'")
    run('ip6tables-nft -t nat -A POSTROUTING -j MASQUERADE; ip6tables-nft -t nat -P INPUT ACCEPT')
    const { seen, wanted } = await lifeOf(() => loadIptablesGoldens('nft'))
    expect(seen).toEqual(wanted)
  })

  test('a rule that somebody adds between the look and the removal survives', async () => {
    loadIptablesGoldens('nft')
    const { removals } = await findLeftovers(await openDoors(thisHost(), noPins, signal), signal)
    run('iptables-nft -A FORWARD -s 192.0.2.1 -j DROP')
    const problems = await problemsOfRemoving(removals)
    expect(problems).toEqual([
      'nft ip filter: chain FORWARD stays, because another program uses it now',
      'nft: table ip filter stays, because another program uses it now',
    ])
    expect(run('iptables-nft -S')).toBe(
      ['-P INPUT ACCEPT', '-P FORWARD ACCEPT', '-P OUTPUT ACCEPT', '-A FORWARD -s 192.0.2.1/32 -j DROP', ''].join('\n'),
    )
    expect(run('nft list tables')).toBe('table ip filter\n')
  })

  test("an iptables that does not delete the kernel's chains, as older ones, is no hindrance", async () => {
    const before = kernelState()
    loadIptablesGoldens('nft')
    const doors = await openDoors(thisHost(), noPins, signal)
    const iptables = doors.iptables.map((found) => ({ ...found, iptables: withoutDeleteChain(found.iptables) }))
    const { removals } = await findLeftovers({ ...doors, iptables }, signal)
    expect(await problemsOfRemoving(removals)).toEqual([])
    expect(kernelState()).toBe(before)
  })

  test('rules of ours in a table that iptables-nft can no longer read are reported', async () => {
    loadIptablesGoldens('nft')
    run('nft add rule ip nat PREROUTING numgen random mod 2 0 counter')
    const { code, err } = await cleanup(false)
    expect(code).toBe(1)
    expect(err).toMatch(
      /^Error: nf_tables: table ip nat holds chains of a proxy \(KUBE-[^)]*\), but the table also has rules/,
    )
  })
})

interface LeftoverLife {
  /** What happened. */
  readonly seen: unknown
  /** What should have. */
  readonly wanted: unknown
}

/** Records the state, makes leftovers, and cleans up: what goes is what the dry run lists, and nothing else. */
async function lifeOf(makeLeftovers: () => unknown): Promise<LeftoverLife> {
  const before = kernelState()
  makeLeftovers()
  const dirty = kernelState()
  const dryRun = await cleanup(true)
  const afterDryRun = kernelState()
  const removal = await cleanup(false)
  const seen = {
    isDirty: dirty !== before,
    dryRun,
    afterDryRun,
    removal,
    after: kernelState(),
    again: await cleanup(false),
  }
  const wanted = {
    isDirty: true,
    dryRun: { code: 0, out: dryRun.out, err: '' },
    afterDryRun: dirty,
    removal: { code: 0, out: dryRun.out.replaceAll('would remove', 'removed'), err: '' },
    after: before,
    again: { code: 0, out: 'Nothing to remove.\n', err: '' },
  }
  return { seen, wanted }
}

async function problemsOfRemoving(removals: readonly Removal[]): Promise<readonly string[]> {
  const problems: string[] = []
  for await (const outcome of removeLeftovers(removals, signal))
    if ('problem' in outcome) problems.push(outcome.problem)
  return problems
}

function withoutDeleteChain(iptables: Iptables): Iptables {
  const refusal = new IptablesError('refused', 'Invalid argument. Run `dmesg` for more information.')
  return Object.assign(Object.create(iptables) as Iptables, {
    readAll: iptables.readAll.bind(iptables),
    restore: iptables.restore.bind(iptables),
    deleteChain: () => Promise.reject(refusal),
  })
}

async function cleanup(
  isDryRun: boolean,
  isOwnTablesOnly = false,
): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', '']
  const program = {
    ...unwatched,
    host: thisHost(),
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
  }
  const code = await cleanupCommand({ isDryRun, isOwnTablesOnly, stateDir: '', pins: noPins, program }, signal)
  return { code, out, err }
}

/** Chains and rules with names and comments like ours, in the chains that ours are in. */
function addForeignRules(variant: Variant): void {
  for (const command of commands) {
    const iptables = `${command}-${variant}`
    run(`
      ${iptables} -N KUBE-ROUTER-INPUT
      ${iptables} -A INPUT -m comment --comment "kubernetes service portals" -j KUBE-ROUTER-INPUT
      ${iptables} -A INPUT -m comment --comment "-j KUBE-SERVICES" -j ACCEPT
      ${iptables} -A FORWARD -m comment --comment "kubernetes forwarding rules" -j ACCEPT
      ${iptables} -N KUBE-SVC-notes
      ${iptables} -A KUBE-SVC-notes -j RETURN
      ${iptables} -t nat -N KUBE-HOSTPORTS
      ${iptables} -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j KUBE-HOSTPORTS
      ${iptables} -t nat -A POSTROUTING -o eth0 -j MASQUERADE
      ${iptables} -t mangle -A PREROUTING -p tcp -j MARK --set-xmark 0x8000/0x8000
    `)
  }
}

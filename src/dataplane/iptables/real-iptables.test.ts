import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import type { Family } from '../../net/ip.ts'
import { families } from '../../net/ip.ts'
import { findIptables } from './find-iptables.ts'
import { iptablesContract, rulesOf, table } from './iptables.contract.ts'
import type { Iptables, Variant } from './iptables.ts'
import { createNamespace, missingForRealTools } from './testing/network-namespace.ts'
import type { NetworkNamespace } from './testing/network-namespace.ts'

const never = new AbortController().signal

for (const variant of ['nf_tables', 'legacy'] as const)
  for (const family of families) {
    const tool = `${family === 'ipv4' ? 'iptables' : 'ip6tables'}-${variant === 'legacy' ? 'legacy' : 'nft'}`
    const missing = missingForRealTools([tool])
    describe.skipIf(missing !== undefined)(`${tool} ${missing ?? 'is here'}`, () => {
      realIptables(tool, family, variant)
    })
  }

function realIptables(name: string, family: Family, variant: Variant): void {
  iptablesContract(name, family, async () => {
    const namespace = await createNamespace()
    return ending(await iptablesIn(namespace, family, variant), namespace)
  })

  test(`${name} aborted in the middle of a restore holds the old rules or the new ones`, async () => {
    await using namespace = await createNamespace()
    const iptables = await iptablesIn(namespace, family, variant)
    const generation = (n: number) => {
      const chains = Array.from({ length: 1500 }, (_, i) => `CHAIN-${i}`)
      const declared = chains.map((chain) => `:${chain} - [0:0]`)
      return table('nat', ...declared, ...chains.map((chain) => `-A ${chain} -m comment --comment gen${n} -j RETURN`))
    }
    await iptables.restore(generation(0), never)
    let survived = 0
    // From before the tool reads anything to after it is done, so that some aborts happen during the commit.
    for (let n = 1; n <= 12; n++) {
      const controller = new AbortController()
      const restoring = iptables.restore(generation(n), controller.signal)
      const timer = setTimeout(() => controller.abort(new Error('enough')), n * 4)
      const outcome = await restoring.then(
        () => 'applied' as const,
        (error: unknown) => String(error),
      )
      clearTimeout(timer)
      const saved = await iptables.save('nat', never)
      const generations = new Set(Array.from(saved.matchAll(/--comment gen(\d+)/g), ([, n]) => Number(n)))
      expect(generations.size, `after attempt ${n}: ${outcome}`).toBe(1)
      expect(saved.match(/-A CHAIN-/g)).toHaveLength(1500)
      // If the restore succeeded, its rules must be there.
      expect(outcome === 'applied' ? [...generations] : [n]).toEqual([n])
      if (outcome !== 'applied') survived++
    }
    expect(survived).toBeGreaterThan(0)
  })

  test(`${name} without the right to change rules says so`, async () => {
    await using namespace = await createNamespace()
    const powerless = await findIptables({
      family,
      variant,
      clock: systemClock,
      log: silentLogger,
      signal: never,
      exec: (program, args, options) =>
        namespace.exec('setpriv', ['--bounding-set=-net_admin', '--inh-caps=-net_admin', program, ...args], options),
    })
    await expect(powerless.isSupported(never)).rejects.toMatchObject({ reason: 'not-permitted' })
    await expect(powerless.save('nat', never)).rejects.toMatchObject({ reason: 'not-permitted' })
    await expect(powerless.ensureChain('nat', 'A', never)).rejects.toMatchObject({ reason: 'not-permitted' })
  })
}

const missingForLock = missingForRealTools(['iptables-legacy', 'flock'])
test.skipIf(missingForLock !== undefined)(
  `legacy iptables gives up when another program holds the xtables lock, and works once it is free ${missingForLock ?? ''}`,
  async () => {
    await using namespace = await createNamespace()
    const iptables = await iptablesIn(namespace, 'ipv4', 'legacy')
    const holder = spawn('flock', [namespace.lockFile, 'sh', '-c', 'echo held; exec cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    const started = performance.now()
    const restoring = iptables.restore(table('nat', ':A - [0:0]'), never)
    await expect(restoring).rejects.toMatchObject({
      reason: 'locked',
      message: expect.stringContaining('xtables lock'),
    })
    expect(performance.now() - started).toBeGreaterThan(3900)
    await expect(iptables.chainExists('nat', 'A', never)).rejects.toMatchObject({ reason: 'locked' })
    // Saving takes no lock.
    expect(await rulesOf(iptables, 'nat', 'OUTPUT')).toEqual([])
    const gone = once(holder, 'exit')
    const waiting = iptables.restore(table('nat', ':A - [0:0]'), never)
    holder.stdin.end()
    await gone
    await waiting
    expect(await iptables.chainExists('nat', 'A', never)).toBe(true)
  },
)

function iptablesIn(namespace: NetworkNamespace, family: Family, variant: Variant): Promise<Iptables> {
  const { exec } = namespace
  return findIptables({ family, variant, exec, clock: systemClock, log: silentLogger, signal: never })
}

function ending(iptables: Iptables, namespace: NetworkNamespace): Iptables & AsyncDisposable {
  return Object.assign(iptables, { [Symbol.asyncDispose]: () => namespace[Symbol.asyncDispose]() })
}

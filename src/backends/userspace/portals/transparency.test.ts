import { expect, test } from 'vitest'
import { systemClock } from '../../../core/clock.ts'
import { silentLogger } from '../../../core/logger.ts'
import type { Route } from '../../../core/route.ts'
import { RecordingLogger } from '../../../core/testing/recording-logger.ts'
import { testRoute, testView } from '../../../core/testing/routes.ts'
import { IptablesError } from '../../../dataplane/iptables/iptables.ts'
import { MemoryIptables } from '../../../dataplane/iptables/memory-iptables.ts'
import { MemoryMarkedDelivery } from '../../../dataplane/marked-delivery/memory-marked-delivery.ts'
import { NodeRelay } from '../../../dataplane/relay/node/node-relay.ts'
import type { Relay } from '../../../dataplane/relay/relay.ts'
import { readKernelState } from '../../../dataplane/iptables/language/kernel-state.ts'
import { answerDelivery } from './answer-rules.ts'
import { Transparency } from './transparency.ts'

const never = new AbortController().signal
const keeping = testRoute('shop/web')
const plain = testRoute('shop/plain', { clusterIP: '10.96.0.11' })
const led = [
  ':KUBE-PORTALS-ANSWERS - [0:0]',
  '-A PREROUTING -m comment --comment "kubernetes service portals: answers of pods to clients" -j KUBE-PORTALS-ANSWERS',
  '-A KUBE-PORTALS-ANSWERS -m socket --transparent -j MARK --set-xmark 0x1000/0x1000',
]

test('answers are led back while a Service keeps addresses, and not a moment longer', async () => {
  const { transparency, sync, held } = underTest()
  await sync([plain])
  expect(transparency.isOn).toBe(false)
  expect(await held()).toEqual({ rules: [], isDelivered: false })
  await sync([keeping, plain], [keeping])
  expect(transparency.isOn).toBe(true)
  expect(await held()).toEqual({ rules: led, isDelivered: true })
  await sync([plain], [keeping])
  expect(transparency.isOn).toBe(false)
  expect(await held()).toEqual({ rules: [], isDelivered: false })
})

test('rules stay for connections that are open, and go with the last', async () => {
  const { sync, held, connections } = underTest()
  await sync([keeping])
  connections.open = 1
  await sync([plain], [keeping])
  expect(await held()).toEqual({ rules: led, isDelivered: true })
  connections.open = 0
  await sync([plain], [])
  expect(await held()).toEqual({ rules: [], isDelivered: false })
})

test('what an earlier process left goes with the first sync', async () => {
  const { kernel, delivery, sync, held } = underTest()
  await kernel.restore(`*mangle\n:KUBE-PORTALS-ANSWERS - [0:0]\n${led.slice(1).join('\n')}\nCOMMIT\n`, never)
  await delivery.ensure('ipv4', never)
  await sync([plain])
  expect(await held()).toEqual({ rules: [], isDelivered: false })
})

test('a full sync puts back what others removed, and the jump is there once', async () => {
  const { transparency, kernel, delivery, sync, held } = underTest()
  await sync([keeping])
  expect(transparency.findDrift(await readKernelState(kernel, never))).toBeUndefined()
  await kernel.restore('*mangle\n-F KUBE-PORTALS-ANSWERS\nCOMMIT\n', never)
  expect(transparency.findDrift(await readKernelState(kernel, never))).toContain('mangle/KUBE-PORTALS-ANSWERS')
  await kernel.restore('*mangle\n-F PREROUTING\nCOMMIT\n', never)
  expect(transparency.findDrift(await readKernelState(kernel, never))).toContain('the jump from mangle/PREROUTING')
  await delivery.remove('ipv4', never)
  await sync([keeping])
  await sync([keeping])
  expect(await held()).toEqual({ rules: led, isDelivered: true })
})

test('a kernel that cannot is told of once, asked again by a full sync, and leaves endpoints plain', async () => {
  const log = new RecordingLogger()
  const { transparency, kernel, sync } = underTest({ log, missingMatches: new Set(['socket']) })
  await sync([keeping])
  await sync([keeping], [keeping])
  await sync([keeping])
  expect(transparency.isOn).toBe(false)
  expect(transparency.findDrift(await readKernelState(kernel, never))).toBeUndefined()
  expect(log.at('warn')).toMatchObject([
    {
      message: 'pods see the address of the node instead of that of the client',
      fields: { reason: 'the kernel refused the rules', error: expect.any(IptablesError) },
    },
  ])
})

const acceptsKnown = '-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT'

test('rules of others that let packets pass may stay before ours', async () => {
  const { transparency, kernel, sync, rulesBefore } = underTest()
  await sync([keeping])
  await kernel.restore('*mangle\n-I PREROUTING -i eni+ -j MARK --set-xmark 0x80/0x80\nCOMMIT\n', never)
  expect(transparency.findDrift(await readKernelState(kernel, never))).toBeUndefined()
  await sync([keeping])
  expect([transparency.isOn, await rulesBefore()]).toEqual([true, 1])
})

test('a rule that may accept answers before ours is overtaken once; when it comes again, pods see the node', async () => {
  const log = new RecordingLogger()
  const { transparency, kernel, sync, rulesBefore, held } = underTest({ log })
  const overtake = () => kernel.restore(`*mangle\n-I PREROUTING ${acceptsKnown}\nCOMMIT\n`, never)
  await overtake()
  await sync([keeping])
  expect([transparency.isOn, await rulesBefore()]).toEqual([true, 0])
  await overtake()
  expect(transparency.findDrift(await readKernelState(kernel, never))).toContain('comes before our jump')
  await sync([keeping])
  expect([transparency.isOn, await rulesBefore()]).toEqual([true, 0])
  expect((await held()).rules).toEqual(led)
  await overtake()
  await sync([keeping])
  await sync([keeping])
  expect([transparency.isOn, await rulesBefore()]).toEqual([false, 1])
  expect(transparency.whyNot).toContain(acceptsKnown)
  expect(log.at('warn').map(({ fields }) => fields['reason'])).toEqual([transparency.whyNot])
  await kernel.deleteRule('mangle', 'PREROUTING', acceptsKnown.split(' '), never)
  await sync([keeping])
  expect([transparency.isOn, transparency.whyNot]).toEqual([true, undefined])
})

test('Calico, which would put its jump first again at once, is left alone', async () => {
  const { transparency, kernel, sync, held } = underTest()
  const calico = `*mangle\n:cali-PREROUTING - [0:0]\n-A cali-PREROUTING ${acceptsKnown}\n-I PREROUTING -j cali-PREROUTING\nCOMMIT\n`
  await kernel.restore(calico, never)
  await sync([keeping])
  expect(transparency.isOn).toBe(false)
  expect(transparency.whyNot).toContain('cali-PREROUTING')
  expect((await held()).rules).toEqual([])
})

test('a failure that passes is not remembered: the next sync tries again, whatever it is about', async () => {
  const log = new RecordingLogger()
  const { transparency, kernel, sync } = underTest({ log })
  const restore = kernel.restore.bind(kernel)
  kernel.restore = () => Promise.reject(new IptablesError('locked', 'somebody holds the xtables lock'))
  await sync([keeping])
  expect(transparency.isOn).toBe(false)
  expect(transparency.whyNot).toContain('tries again')
  kernel.restore = restore
  await sync([keeping, plain], [plain])
  expect(transparency.isOn).toBe(true)
})

test('a kernel without routing rules leaves endpoints plain, until it has them', async () => {
  const { transparency, delivery, sync } = underTest()
  delivery.refuseWith = 95
  await sync([keeping])
  expect(transparency.isOn).toBe(false)
  delivery.refuseWith = undefined
  await sync([keeping])
  expect(transparency.isOn).toBe(true)
})

test('where the operator wants the node to be seen, nothing is written, and what was left goes', async () => {
  const log = new RecordingLogger()
  const { transparency, delivery, sync, held } = underTest({ log, keepsClients: false })
  await delivery.ensure('ipv4', never)
  await sync([keeping])
  expect([transparency.isOn, transparency.whyNot]).toEqual([false, '--userspace-client-address=node'])
  expect(await held()).toEqual({ rules: [], isDelivered: false })
  expect(log.at('warn')).toEqual([])
})

test('an engine that cannot is told of once, and no rule is written', async () => {
  const log = new RecordingLogger()
  const { transparency, sync, held } = underTest({ log, isNative: false })
  await sync([keeping])
  await sync([keeping])
  expect(transparency.isOn).toBe(false)
  expect(await held()).toEqual({ rules: [], isDelivered: false })
  expect(log.at('warn').map(({ fields }) => fields['reason'])).toEqual([
    'only the native engine supports it, with CAP_NET_RAW; see --userspace-engine',
  ])
})

test('the end takes everything away', async () => {
  const { transparency, sync, held } = underTest()
  await sync([keeping])
  await transparency[Symbol.asyncDispose]()
  expect(await held()).toEqual({ rules: [], isDelivered: false })
})

function underTest({
  log = silentLogger,
  missingMatches = new Set<string>(),
  isNative = true,
  keepsClients = true,
}: {
  readonly log?: typeof silentLogger
  readonly missingMatches?: ReadonlySet<string>
  readonly isNative?: boolean
  readonly keepsClients?: boolean
} = {}) {
  const connections = { open: 0 }
  const nodeRelay: Relay = new NodeRelay({ log: silentLogger, clock: systemClock })
  const relay = isNative ? Object.assign(nodeRelay, { transparentConnections: () => connections.open }) : nodeRelay
  const kernel = new MemoryIptables({ family: 'ipv4', missingMatches })
  const delivery = new MemoryMarkedDelivery(answerDelivery)
  const transparency = new Transparency({ relay, iptables: kernel, delivery, keepsClients, log })
  return {
    transparency,
    kernel,
    delivery,
    connections,
    /** A full sync, unless the changed routes are given. */
    sync: async (routes: readonly Route[], changed?: readonly Route[]) => {
      const keys = (changed ?? routes).map(({ key }) => key)
      await transparency.prepare(
        testView(...routes),
        { keys, isFull: changed === undefined, keeps: ({ key }) => key === keeping.key },
        never,
      )
      await transparency.tidy(never)
    },
    /** How many rules come before our jump. */
    rulesBefore: async () =>
      ((await kernel.chainRules('mangle', 'PREROUTING', never)) ?? []).findIndex((rule) =>
        rule.endsWith('-j KUBE-PORTALS-ANSWERS'),
      ),
    held: async () => {
      const lines = (await kernel.save('mangle', never)).split('\n')
      return {
        rules: lines.filter((line) => line.includes('KUBE-')),
        isDelivered: await delivery.isThere('ipv4', never),
      }
    },
  }
}

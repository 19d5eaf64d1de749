import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../testing/cluster-samples.ts'
import { framesOf, readFrames } from '../testing/readable-frames.ts'
import type { GlobalStore } from './global-store.ts'
import { LocalAnswers } from './local-answers.ts'
import { LocalCursor } from './local-cursor.ts'
import type { OpBytes } from './op-bytes.ts'

const names = ['node-a', 'node-b', 'node-c']
const path = fc.constantFrom('default/web', 'default/web-udp', 'other/web')
const node = fc.constantFrom(...names)

type Step = (store: GlobalStore) => void

const serviceStep = fc
  .record({ path, port: fc.nat(3), ExternalTrafficToLocal: fc.boolean(), InternalTrafficToLocal: fc.boolean() })
  .map(
    ({ path: at, ...changes }): Step =>
      (store) =>
        changes.port === 0 ? store.deleteService(at) : store.setService(sampleService(at, changes)),
  )

const endpointsStep = fc
  .record({
    path,
    source: fc.constantFrom('s1', 's2'),
    endpoints: fc.uniqueArray(
      fc.record({
        host: fc.nat(20),
        isPod: fc.boolean(),
        node,
        ready: fc.boolean(),
        terminating: fc.boolean(),
        zones: fc.subarray(['z1', 'z2']),
        nodeHints: fc.subarray(names),
      }),
      // Includes more than are joined into one.
      { maxLength: 20, selector: ({ host }) => host },
    ),
  })
  .map(({ path: at, source, endpoints }): Step => {
    const samples = endpoints.map(({ host, isPod, ...rest }) => ({
      ip: `10.0.0.${host}`,
      ...(isPod && { pod: `pod-${host}` }),
      ...rest,
    }))
    return (store) => setEndpoints(store, at, samples, `${at.split('/')[1]}-${source}`)
  })

const nodeStep = fc.record({ node, zone: fc.constantFrom('', 'z1', 'z2') }).map(
  ({ node: name, zone }): Step =>
    (store) =>
      zone === '' ? store.deleteNode(name) : store.setNode(sampleNode(name, zone)),
)

/** A change, after which some of the nodes ask. */
const anyHistory = fc.array(
  fc.record({
    step: fc.oneof(
      { weight: 3, arbitrary: serviceStep },
      { weight: 5, arbitrary: endpointsStep },
      { weight: 1, arbitrary: nodeStep },
    ),
    asking: fc.subarray(names),
  }),
  { maxLength: 30 },
)

test('after any history each node knows what a newcomer is told, however late it asked', () => {
  fc.assert(
    fc.property(anyHistory, fc.boolean(), (history, wantsUnscoped) => {
      const store = syncedStore()
      const answers = new LocalAnswers(store)
      const cursorOf = () => new LocalCursor({ store, answers, wantsUnscoped, onExpired: () => {} })
      const peers = names.map((name) => ({ name, cursor: cursorOf(), known: new Map<string, string>() }))
      for (const { step, asking } of history) {
        step(store)
        store.commit()
        for (const { name, cursor, known } of peers) if (asking.includes(name)) apply(known, cursor.advance(name))
      }
      for (const { name, cursor, known } of peers) {
        apply(known, cursor.advance(name))
        const newcomer = new Map<string, string>()
        apply(newcomer, cursorOf().advance(name))
        expect(Object.fromEntries(known)).toEqual(Object.fromEntries(newcomer))
        expect(cursor.advance(name)).toBeUndefined()
      }
    }),
  )
})

/** Applies changes as a peer does, and checks that counts are right and that deleted entries existed. */
function apply(known: Map<string, string>, parts: Iterable<OpBytes> | undefined): void {
  const sent = [...(parts ?? [])]
  const items = readFrames(framesOf(sent))
  const unknown: string[] = []
  for (const { Op: op } of items) {
    if (op?.$case === 'Set') known.set(op.value.Ref?.Path ?? '', Buffer.from(op.value.Bytes).toString('hex'))
    else if (op?.$case === 'Delete' && !known.delete(op.value.Path)) unknown.push(op.value.Path)
  }
  expect(unknown).toEqual([])
  expect(items).toHaveLength(sent.reduce((sum, { operations }) => sum + operations, 0))
}

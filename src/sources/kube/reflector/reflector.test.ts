import { describe, expect, test } from 'vitest'
import { eventually } from '../testing/eventually.ts'
import type { Answer, Exchange } from '../testing/fault-server.ts'
import { bookmark, thing, thingList } from '../testing/recording-sink.ts'
import { ReflectorRig } from '../testing/reflector-rig.ts'

/** A server that knows streaming lists: objects, the marked bookmark, and the stream stays open. */
function streamingList(version: number, ...objects: unknown[]): Answer {
  return (exchange) => void openStreamingList(exchange, version, ...objects)
}

function openStreamingList(exchange: Exchange, version: number, ...objects: unknown[]): Exchange {
  exchange.open()
  for (const object of objects) exchange.event('ADDED', object)
  return exchange.event('BOOKMARK', bookmark(version, true))
}

/** A server that does not know streaming lists. */
const refuseStreaming: Answer = (exchange) =>
  exchange.status(422, 'Invalid', 'sendInitialEvents is forbidden for watch unless the WatchList feature is enabled')

const emptyWatch: Answer = (exchange) => void exchange.open()

function parameter(rig: ReflectorRig, request: number, name: string): string | null {
  return rig.server.received[request]?.url.searchParams.get(name) ?? null
}

describe('a streaming list', () => {
  test('is delivered as one replace, and the same stream goes on as the watch', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => {
      openStreamingList(exchange, 7, thing('a', 3), thing('b', 5))
      exchange.event('MODIFIED', thing('a', 8)).event('DELETED', thing('b', 9)).event('ADDED', thing('c', 10))
    })
    await rig.run().diary('replace a@3 b@5', 'upsert a@8', 'remove b@9', 'upsert c@10')
    expect(rig.sink.diary).toEqual(['replace a@3 b@5', 'upsert a@8', 'remove b@9', 'upsert c@10'])
    expect(rig.server.received).toHaveLength(1)
    expect(Object.fromEntries(rig.server.received[0]?.url.searchParams ?? [])).toEqual({
      watch: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '300',
    })
    expect(rig.reflector.status()).toMatchObject({
      hasSynced: true,
      isConnected: true,
      lists: 1,
      resourceVersion: '10',
    })
  })

  test('delivers nothing before its end, and holds changes that happen meanwhile', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => {
      exchange.open().event('ADDED', thing('a', 3)).event('ADDED', thing('b', 5)).event('DELETED', thing('a', 8))
      exchange.event('MODIFIED', thing('b', 9))
    })
    rig.run()
    await rig.requests(1)
    await eventually('the events to arrive', () => rig.reflector.status().lastContactMs !== undefined)
    expect(rig.sink.diary).toEqual([])
    expect(rig.reflector.status().hasSynced).toBe(false)
    rig.server.exchanges[0]?.event('BOOKMARK', bookmark(9, true))
    await rig.diary('replace b@9')
    expect(rig.sink.diary).toEqual(['replace b@9'])
    expect(rig.sink.foreseen).toEqual(['a@3', 'b@5', 'b@9'])
  })

  test('is asked for at once, and read when it may be', async () => {
    let read = () => {}
    await using rig = await ReflectorRig.make({ mayRead: new Promise<void>((resolve) => (read = resolve)) })
    rig.server.script(streamingList(7, thing('a', 3))).otherwise((exchange) => exchange.json(200, {}))
    rig.run()
    await eventually('the answer', () => rig.reflector.status().isConnected)
    // The list has been on its way for longer than this.
    for (let turn = 0; turn < 10; turn++) await rig.client.request({ path: '/other' }, new AbortController().signal)
    expect(rig.sink.diary).toEqual([])
    read()
    await rig.diary('replace a@3')
    expect(rig.server.received.filter(({ url }) => url.pathname !== '/other')).toHaveLength(1)
  })

  test('that breaks off before it may be read is asked for again', async () => {
    let read = () => {}
    await using rig = await ReflectorRig.make({ mayRead: new Promise<void>((resolve) => (read = resolve)) })
    rig.server
      .script((exchange) => exchange.open().event('ADDED', thing('a', 3)).cut())
      .script(streamingList(9, thing('b', 5)))
    rig.run()
    await eventually('the answer', () => rig.reflector.status().isConnected)
    await eventually('the end of the connection', () => rig.server.exchanges[0]?.isGone === true)
    read()
    await rig.pauses.pass()
    await rig.diary('replace b@5')
    expect(rig.sink.diary).toEqual(['replace b@5'])
  })

  test('whoever waits to read one ends at once when told to', async () => {
    await using rig = await ReflectorRig.make({ mayRead: new Promise<void>(() => {}) })
    rig.server.script(streamingList(7, thing('a', 3)))
    rig.run()
    await eventually('the answer', () => rig.reflector.status().isConnected)
    await rig.stop()
    expect(rig.sink.diary).toEqual([])
  })

  test('that breaks off is asked for again after a pause, and nothing of it is used', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => exchange.open().event('ADDED', thing('a', 3)).cut())
      .script(streamingList(9, thing('b', 5)))
    rig.run()
    expect(await rig.pauses.pass()).toBe(800)
    await rig.diary('replace b@5')
    expect(rig.sink.diary).toEqual(['replace b@5'])
    expect(parameter(rig, 1, 'sendInitialEvents')).toBe('true')
  })
})

describe('a server without streaming lists', () => {
  for (const [code, reason] of [
    [400, 'BadRequest'],
    [422, 'Invalid'],
  ] as const)
    test(`that answers ${code} is asked for a plain list at once, then for a watch from its version`, async () => {
      await using rig = await ReflectorRig.make()
      rig.server
        .script((exchange) => exchange.status(code, reason))
        .script((exchange) => exchange.json(200, thingList(7, [thing('a', 3)])))
        .script((exchange) => void exchange.open().event('ADDED', thing('b', 8)))
      await rig.run().diary('replace a@3', 'upsert b@8')
      expect(rig.pauses.monotonic()).toBe(0)
      expect(parameter(rig, 1, 'resourceVersion')).toBe('0')
      expect(parameter(rig, 1, 'limit')).toBe('500')
      expect(parameter(rig, 1, 'watch')).toBeNull()
      expect(parameter(rig, 2, 'watch')).toBe('true')
      expect(parameter(rig, 2, 'resourceVersion')).toBe('7')
      expect(parameter(rig, 2, 'sendInitialEvents')).toBeNull()
      expect(rig.log.messages('warn')).toEqual([])
    })

  test('that ignores sendInitialEvents and just streams is noticed by its silence', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => void exchange.open().event('ADDED', thing('a', 3)))
      .script((exchange) => exchange.json(200, thingList(7, [thing('a', 3)])))
      .script(emptyWatch)
    rig.run()
    await eventually('the first event to arrive', () => rig.reflector.status().lastContactMs !== undefined)
    expect(rig.sink.diary).toEqual([])
    await rig.limits.advance(10_000)
    await rig.diary('replace a@3')
    await rig.requests(3)
    expect(parameter(rig, 1, 'limit')).toBe('500')
  })

  test('that ignores sendInitialEvents and never falls silent is noticed after a minute', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => void exchange.open().event('ADDED', thing('a', 3)))
      .script((exchange) => exchange.json(200, thingList(90, [thing('a', 89)])))
      .script(emptyWatch)
    rig.run()
    for (let second = 0; second < 60; second += 5) {
      await eventually('the stream to be open', () => rig.reflector.status().lastContactMs !== undefined)
      rig.pauses.advance(1)
      const { lastContactMs } = rig.reflector.status()
      rig.server.exchanges[0]?.event('MODIFIED', thing('a', 4 + second))
      await eventually('the event to arrive', () => rig.reflector.status().lastContactMs !== lastContactMs)
      await rig.limits.advance(5_000)
    }
    await rig.diary('replace a@89')
    expect(rig.sink.diary).toEqual(['replace a@89'])
  })

  test('that ignores sendInitialEvents is noticed by its first ordinary bookmark', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => void exchange.open().event('ADDED', thing('a', 3)).event('BOOKMARK', bookmark(6)))
      .script((exchange) => exchange.json(200, thingList(7, [thing('a', 3)])))
      .script(emptyWatch)
    await rig.run().diary('replace a@3')
    await eventually('the useless watch to be closed', () => rig.server.exchanges[0]?.isGone === true)
    expect(rig.sink.diary).toEqual(['replace a@3'])
  })

  test('that ends the stream before the marker gets a plain list', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => exchange.open().event('ADDED', thing('a', 3)).end())
      .script((exchange) => exchange.json(200, thingList(7, [thing('b', 3)])))
      .script(emptyWatch)
    await rig.run().diary('replace b@3')
    expect(rig.sink.diary).toEqual(['replace b@3'])
  })
})

describe('a plain list', () => {
  test('is read page by page and delivered as one replace', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script(refuseStreaming)
      .script((exchange) => exchange.json(200, thingList(7, [thing('a', 1)], 'page-2')))
      .script((exchange) => exchange.json(200, thingList(7, [thing('b', 2)], 'page-3')))
      .script((exchange) => exchange.json(200, thingList(7, [thing('c', 3)])))
      .script(emptyWatch)
    await rig.run().diary('replace a@1 b@2 c@3')
    expect(rig.sink.diary).toEqual(['replace a@1 b@2 c@3'])
    expect(parameter(rig, 2, 'continue')).toBe('page-2')
    expect(parameter(rig, 2, 'resourceVersion')).toBeNull()
    expect(parameter(rig, 3, 'continue')).toBe('page-3')
  })

  test('is asked for at once when the feature gate says so', async () => {
    await using rig = await ReflectorRig.make({ usesStreamingLists: false })
    rig.server.script((exchange) => exchange.json(200, thingList(7, [thing('a', 1)]))).script(emptyWatch)
    await rig.run().diary('replace a@1')
    expect(parameter(rig, 0, 'sendInitialEvents')).toBeNull()
  })

  test('whose next page has expired starts over without pages', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script(refuseStreaming)
      .script((exchange) => exchange.json(200, thingList(7, [thing('a', 1)], 'page-2')))
      .script((exchange) => exchange.status(410, 'Expired', 'The provided continue parameter is too old'))
      .script((exchange) => exchange.json(200, thingList(9, [thing('b', 2)])))
      .script(emptyWatch)
    await rig.run().diary('replace b@2')
    expect(rig.sink.diary).toEqual(['replace b@2'])
    expect(parameter(rig, 3, 'limit')).toBeNull()
  })

  test('that fails in the middle removes nothing and is tried again', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script(refuseStreaming)
      .script((exchange) => exchange.json(200, thingList(7, [thing('a', 1)], 'page-2')))
      .script((exchange) => exchange.open().write('{"kind":"ThingList","items":[{"meta').cut())
      .script((exchange) => exchange.json(200, thingList(9, [thing('a', 1), thing('b', 2)])))
      .script(emptyWatch)
    rig.run()
    await rig.pauses.pass()
    await rig.diary('replace a@1 b@2')
    expect(rig.sink.diary).toEqual(['replace a@1 b@2'])
  })

  test('without items (Go writes null) is an empty list', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script(refuseStreaming)
      .script((exchange) => exchange.json(200, { metadata: { resourceVersion: '4' }, items: null }))
      .script(emptyWatch)
    await rig.run().diary('replace')
    await rig.requests(3)
    expect(rig.sink.diary).toEqual(['replace'])
  })

  test('that is something else altogether is refused', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script(refuseStreaming)
      .script((exchange) => exchange.text(200, '<html>login</html>'))
      .script((exchange) => exchange.json(200, { hello: 'world' }))
      .script((exchange) => exchange.json(200, thingList(9, [thing('a', 1)])))
      .script(emptyWatch)
    rig.run()
    await rig.pauses.pass()
    await rig.pauses.pass()
    await rig.diary('replace a@1')
    expect(rig.sink.diary).toEqual(['replace a@1'])
  })
})

describe('a watch', () => {
  test('that is cut in the middle of a line goes on from the last complete event', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) =>
        openStreamingList(exchange, 7, thing('a', 3))
          .event('MODIFIED', thing('a', 8))
          .write('{"type":"DELETED","object":{"metadata":{"name":"a","resour')
          .cut(),
      )
      .script((exchange) => void exchange.open().event('MODIFIED', thing('a', 9)))
    rig.run()
    expect(await rig.pauses.pass()).toBe(800)
    await rig.diary('replace a@3', 'upsert a@8', 'upsert a@9')
    expect(rig.sink.diary).toEqual(['replace a@3', 'upsert a@8', 'upsert a@9'])
    expect(parameter(rig, 1, 'resourceVersion')).toBe('8')
    expect(parameter(rig, 1, 'sendInitialEvents')).toBeNull()
  })

  test('that ends well with half a line forgets the half', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).write('{"type":"DELETED","obj').end())
      .script(emptyWatch)
    rig.run()
    await rig.pauses.pass()
    await rig.requests(2)
    expect(rig.sink.diary).toEqual(['replace a@3'])
    expect(parameter(rig, 1, 'resourceVersion')).toBe('7')
  })

  test('remembers the version of bookmarks, and they change nothing', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).event('BOOKMARK', bookmark(4711)).end())
      .script(emptyWatch)
    rig.run()
    await rig.pauses.pass()
    await rig.requests(2)
    expect(parameter(rig, 1, 'resourceVersion')).toBe('4711')
    expect(rig.sink.diary).toEqual(['replace a@3'])
  })

  for (const [form, answer] of [
    ['HTTP status', (exchange) => exchange.status(410, 'Gone')],
    [
      'ERROR event',
      (exchange) =>
        void exchange.open().event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }),
    ],
  ] as const satisfies readonly (readonly [string, Answer])[])
    test(`whose version is gone (${form}) lists again and removes nothing before that`, async () => {
      await using rig = await ReflectorRig.make()
      rig.server
        .script((exchange) => openStreamingList(exchange, 7, thing('a', 3), thing('b', 4)).end())
        .script(answer)
        .script(streamingList(90, thing('b', 80)))
      rig.run()
      await rig.pauses.pass()
      await rig.pauses.pass()
      await rig.diary('replace a@3 b@4', 'replace b@80')
      expect(rig.sink.diary).toEqual(['replace a@3 b@4', 'replace b@80'])
      expect(parameter(rig, 2, 'sendInitialEvents')).toBe('true')
      expect(parameter(rig, 2, 'resourceVersion')).toBe('7')
      expect(rig.log.messages('warn')).toEqual([])
    })

  test('lists from the newest when even the last version cannot be had', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => openStreamingList(exchange, 70, thing('a', 3)).end())
      .script((exchange) => exchange.status(410, 'Gone'))
      .script((exchange) =>
        exchange.json(504, {
          kind: 'Status',
          code: 504,
          reason: 'Timeout',
          details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
        }),
      )
      .script(streamingList(5, thing('a', 2)))
    rig.run()
    for (let pause = 0; pause < 3; pause++) await rig.pauses.pass()
    await rig.diary('replace a@3', 'replace a@2')
    expect(parameter(rig, 2, 'resourceVersion')).toBe('70')
    expect(parameter(rig, 3, 'resourceVersion')).toBeNull()
    expect(rig.reflector.status().resourceVersion).toBe('5')
  })

  test('does not roll an object back for an older event: it lists again', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => {
        openStreamingList(exchange, 7, thing('a', 3), thing('b', 4))
        exchange.event('MODIFIED', thing('a', 9)).event('MODIFIED', thing('a', 8)).event('DELETED', thing('b', 6))
      })
      .script(streamingList(10, thing('a', 9), thing('b', 4)))
    rig.run()
    await rig.pauses.pass()
    await rig.diary('replace a@3 b@4', 'upsert a@9', 'replace a@9 b@4')
    expect(rig.sink.diary).toEqual(['replace a@3 b@4', 'upsert a@9', 'replace a@9 b@4'])
    expect(parameter(rig, 1, 'resourceVersion')).toBe('9')
  })

  test('applies a repeated event once', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => {
      openStreamingList(exchange, 7, thing('a', 3))
      exchange.event('MODIFIED', thing('a', 7)).event('MODIFIED', thing('a', 8)).event('MODIFIED', thing('a', 8))
      exchange.event('DELETED', thing('a', 9)).event('DELETED', thing('a', 9)).event('ADDED', thing('end', 10))
    })
    await rig.run().diary('replace a@3', 'upsert a@8', 'remove a@9', 'upsert end@10')
    expect(rig.sink.diary).toEqual(['replace a@3', 'upsert a@8', 'remove a@9', 'upsert end@10'])
    expect(rig.server.received).toHaveLength(1)
  })

  test('reads an object whose bytes dribble in, split inside characters', async () => {
    await using rig = await ReflectorRig.make()
    const value = 'Grüße, 世界, 🚢 — '.repeat(20)
    rig.server.script(async (exchange) => {
      openStreamingList(exchange, 7)
      const bytes = Buffer.from(JSON.stringify({ type: 'ADDED', object: thing('a', 8, value) }) + '\n')
      for (const byte of bytes) {
        exchange.write(Buffer.from([byte]))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await rig.run().diary('replace', 'upsert a@8')
    expect(rig.sink.itemsByName.get('a')?.value).toBe(value)
  })

  test('reads a line of several megabytes', async () => {
    await using rig = await ReflectorRig.make()
    const value = 'ü'.repeat(4 * 1024 * 1024)
    rig.server.script((exchange) => void openStreamingList(exchange, 7).event('ADDED', thing('big', 8, value)))
    await rig.run().diary('replace', 'upsert big@8')
    expect(rig.sink.itemsByName.get('big')?.value).toHaveLength(value.length)
  })

  test('lists again when a line is not JSON, because the same line would come again', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => void openStreamingList(exchange, 7, thing('a', 3)).write('}{ nonsense\n'))
      .script(streamingList(9, thing('a', 3)))
    rig.run()
    await rig.pauses.pass()
    await rig.diary('replace a@3', 'replace a@3')
    expect(parameter(rig, 1, 'sendInitialEvents')).toBe('true')
  })

  test('hands broken objects to the sink, which knows how to report them', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => {
      openStreamingList(exchange, 7, null, {}, { metadata: 'x' }, thing('a', 3))
      exchange.event('ADDED', null).event('MODIFIED', 17).event('ADDED', thing('b', 8))
    })
    await rig.run().diary('1', '2', '3', '4')
    expect(rig.sink.diary).toEqual(['replace ?@? ?@? ?@? a@3', 'upsert ?@?', 'upsert ?@?', 'upsert b@8'])
  })
})

describe('a server in trouble', () => {
  test('that answers 429 is left alone for as long as it asks', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => exchange.status(429, 'TooManyRequests', 'wait', { 'retry-after': '7' }))
      .script(streamingList(9, thing('a', 3)))
    rig.run()
    expect(await rig.pauses.pass()).toBe(7_000)
    await rig.diary('replace a@3')
    expect(parameter(rig, 1, 'sendInitialEvents')).toBe('true')
  })

  test('that answers 429 to a watch is asked for the same watch again, not for a list', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end())
      .script((exchange) => exchange.status(429, 'TooManyRequests', 'wait', { 'retry-after': '20' }))
      .script((exchange) => void exchange.open().event('ADDED', thing('b', 8)))
    rig.run()
    await rig.pauses.pass()
    expect(await rig.pauses.pass()).toBe(20_000)
    await rig.diary('replace a@3', 'upsert b@8')
    expect(parameter(rig, 2, 'resourceVersion')).toBe('7')
  })

  test('that refuses our token is asked again every few seconds, however long it takes', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end())
    rig.server.otherwise((exchange) => exchange.status(401, 'Unauthorized'))
    rig.run()
    const waits: number[] = []
    for (let i = 0; i < 7; i++) waits.push(await rig.pauses.pass())
    await eventually('the eighth pause', () => rig.pauses.isPaused)
    expect(rig.sink.diary).toEqual(['replace a@3'])
    rig.server.otherwise((exchange) => void exchange.open().event('ADDED', thing('b', 8)))
    waits.push(await rig.pauses.pass())
    expect(waits).toEqual([800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000])
    await rig.diary('replace a@3', 'upsert b@8')
  })

  test('that storms 500s meets fewer and fewer requests, and one line in the log', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.otherwise((exchange) => exchange.text(500, '<h1>oops</h1>'))
    rig.run()
    const waits: number[] = []
    for (let i = 0; i < 7; i++) waits.push(await rig.pauses.pass())
    await eventually('the eighth pause', () => rig.pauses.isPaused)
    expect(rig.log.messages('warn')).toEqual(['no contact with the API server, the last state stays in use'])
    expect(rig.reflector.status()).toMatchObject({ hasSynced: false, errors: 8 })
    rig.server.otherwise(streamingList(9, thing('a', 3)))
    waits.push(await rig.pauses.pass())
    expect(waits).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
    await rig.diary('replace a@3')
    expect(rig.reflector.status().lastError).toBeUndefined()
    expect(rig.log.messages('info')).toContain('in contact with the API server again')
  })

  test('that hangs up cleanly at once is not asked in a tight loop', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end())
    rig.server.otherwise((exchange) => exchange.open().end())
    rig.run()
    let pauses = 0
    while (rig.pauses.monotonic() < 10 * 60_000) {
      await rig.pauses.pass()
      pauses++
    }
    // 800 ms doubled up to 30 s: 6 short pauses in the first 50 s, then two a minute.
    expect(pauses).toBeLessThan(30)
    expect(rig.server.received.length).toBeLessThanOrEqual(pauses + 1)
    expect(rig.sink.diary).toEqual(['replace a@3'])
  })

  test('that sends one event and hangs up is not asked in a tight loop either', async () => {
    await using rig = await ReflectorRig.make()
    let version = 7
    rig.server.script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end())
    rig.server.otherwise((exchange) => exchange.open().event('MODIFIED', thing('a', ++version)).end())
    rig.run()
    let pauses = 0
    while (rig.pauses.monotonic() < 5 * 60_000) {
      await rig.pauses.pass()
      pauses++
    }
    expect(pauses).toBeLessThan(20)
  })

  test('that ends a long watch is asked for the next one without a pause', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => void openStreamingList(exchange, 7, thing('a', 3))).script(emptyWatch)
    await rig.run().diary('replace a@3')
    rig.pauses.advance(400_000)
    rig.server.exchanges[0]?.end()
    await rig.requests(2)
    expect(rig.pauses.isPaused).toBe(false)
    expect(parameter(rig, 1, 'resourceVersion')).toBe('7')
  })

  test('whose watch was silent for its whole life is asked for a list: its history may have been reset', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end())
      .script(emptyWatch)
      .script(streamingList(9, thing('b', 8)))
    rig.run()
    await rig.pauses.pass()
    await rig.requests(2)
    await eventually('the watch to open', () => rig.reflector.status().isConnected)
    rig.pauses.advance(400_000)
    rig.server.exchanges[1]?.end()
    await rig.diary('replace a@3', 'replace b@8')
    expect(parameter(rig, 2, 'sendInitialEvents')).toBe('true')
  })

  test('that is not there at all is tried again, and the state stays', async () => {
    const rig = await ReflectorRig.make()
    rig.server.script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).cut())
    await rig.run().diary('replace a@3')
    await rig.server[Symbol.asyncDispose]()
    const waits: number[] = []
    for (let i = 0; i < 4; i++) waits.push(await rig.pauses.pass())
    expect(waits).toEqual([800, 1_600, 3_200, 6_400])
    expect(rig.sink.content).toBe('a@3')
    expect(rig.reflector.status()).toMatchObject({ isConnected: false, hasSynced: true })
    expect(rig.reflector.status().lastError).toMatch(/watch \/api\/v1\/things: .*ECONNREFUSED/)
    await rig.stop()
  })

  test('that accepts a watch and never answers is given up after 30 s', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end()).script(() => {})
    rig.server.otherwise(emptyWatch)
    rig.run()
    await rig.pauses.pass()
    await rig.requests(2)
    await rig.limits.advance(30_000)
    await rig.pauses.pass()
    await rig.requests(3)
    await eventually('the useless request to be closed', () => rig.server.exchanges[1]?.isGone === true)
    expect(rig.reflector.status().lastError).toMatch(/the server sent nothing for 30 s/)
  })

  test('that stops sending bookmarks is given up, and the watch goes on from the last one', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => void openStreamingList(exchange, 7).event('BOOKMARK', bookmark(8)))
    rig.server.otherwise(emptyWatch)
    await rig.run().diary('replace')
    await eventually('the bookmark to arrive', () => rig.reflector.status().resourceVersion === '8')
    await rig.limits.advance(150_000)
    await rig.pauses.pass()
    await rig.requests(2)
    expect(parameter(rig, 1, 'resourceVersion')).toBe('8')
    await eventually('the dead watch to be closed', () => rig.server.exchanges[0]?.isGone === true)
  })

  test('that keeps a watch open far beyond its time is hung up on', async () => {
    await using rig = await ReflectorRig.make()
    rig.server.script((exchange) => openStreamingList(exchange, 7).end()).script(emptyWatch)
    rig.server.otherwise(emptyWatch)
    rig.run()
    await rig.pauses.pass()
    await rig.requests(2)
    await eventually('the watch to open', () => rig.reflector.status().isConnected)
    await rig.limits.advance(329_000)
    expect(rig.reflector.status().isConnected).toBe(true)
    await rig.limits.advance(1_000)
    await rig.pauses.pass()
    await rig.requests(3)
    expect(rig.reflector.status().lastError).toMatch(/kept the watch open for 330 s/)
  })

  test('that forbids is named in the log with resource and verb, and asked again', async () => {
    await using rig = await ReflectorRig.make()
    rig.server
      .script((exchange) => exchange.status(403, 'Forbidden', 'User "x" cannot list resource "things"'))
      .script(streamingList(9, thing('a', 3)))
    rig.run()
    await rig.pauses.pass()
    await rig.diary('replace a@3')
    expect(rig.log.lines.find((line) => line.level === 'error')).toMatchObject({
      message: 'not allowed by RBAC: grant the verbs list and watch on this resource',
      fields: { resource: 'things', verb: 'list', problem: expect.stringContaining('cannot list resource') as string },
    })
  })

  test('is left in peace at once when we are told to stop, whatever we are doing', async () => {
    for (const answer of [
      emptyWatch,
      () => {},
      streamingList(7),
      (exchange) => exchange.status(500, 'x'),
    ] as Answer[]) {
      const rig = await ReflectorRig.make()
      rig.server.otherwise(answer)
      rig.run()
      await rig.requests(1)
      await rig.stop()
      expect(rig.pauses.isPaused).toBe(false)
      expect(rig.limits.sleeping).toBe(0)
      await rig[Symbol.asyncDispose]()
    }
  })
})

describe('an API that the cluster does not have', () => {
  test('counts as an empty list, is looked for again slowly, and is used when it appears', async () => {
    await using rig = await ReflectorRig.make({ mayBeAbsent: true })
    rig.server
      .script((exchange) => exchange.text(404, '404 page not found'))
      .script((exchange) => exchange.text(404, '404 page not found'))
      .script(streamingList(9, thing('a', 3)))
    await rig.run().diary('replace')
    expect(rig.reflector.status().hasSynced).toBe(true)
    expect(await rig.pauses.pass()).toBe(300_000)
    expect(await rig.pauses.pass()).toBe(300_000)
    await rig.diary('replace', 'replace a@3')
    expect(rig.sink.diary).toEqual(['replace', 'replace a@3'])
    expect(rig.log.messages('warn')).toEqual([])
  })

  test('removes nothing when it was there before', async () => {
    await using rig = await ReflectorRig.make({ mayBeAbsent: true })
    rig.server.script((exchange) => openStreamingList(exchange, 7, thing('a', 3)).end())
    rig.server.otherwise((exchange) => exchange.text(404, '404 page not found'))
    rig.run()
    for (let i = 0; i < 3; i++) await rig.pauses.pass()
    expect(rig.sink.diary).toEqual(['replace a@3'])
  })
})

test('a sink that throws is a bug and ends the run with its error', async () => {
  await using rig = await ReflectorRig.make()
  rig.server.script(streamingList(7, thing('a', 3)))
  rig.sink.replace = () => {
    throw new TypeError('broken sink')
  }
  await expect(rig.reflector.run(new AbortController().signal)).rejects.toThrow('broken sink')
  expect(rig.limits.sleeping).toBe(0)
})

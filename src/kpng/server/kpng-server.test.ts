import { spawnSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../sources/kube/testing/temporary-folder.ts'
import { GlobalStore } from '../store/global-store.ts'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../testing/cluster-samples.ts'
import { localBind } from '../testing/local-bind.ts'
import { rawWatch } from '../testing/raw-watch.ts'
import { testServer } from '../testing/test-server.ts'
import { globalWatchPath, oldLocalWatchPath, unscopedHeader } from '../wire/grpc-names.ts'

function webStore() {
  const store = syncedStore()
  store.setService(sampleService('default/web'))
  setEndpoints(store, 'default/web', [{ ip: '10.244.1.5', pod: 'web-0', node: 'node-a' }])
  store.commit()
  return store
}

const wholeState = ['reset', '+ default/web 80', '+ default/web/web-0 10.244.1.5 local IE', 'sync']

/** Long enough for a wrong message to arrive. A correct server passes however short it is. */
const quiet = () => sleep(60)

describe('a watch', () => {
  test('hears nothing before it asks, then Reset, the state and Sync', async () => {
    await using server = await testServer(webStore())
    using watch = rawWatch(server.address)
    await quiet()
    expect(watch.pending).toEqual([])
    watch.request('node-a')
    expect(await watch.untilSync()).toEqual(wholeState)
  })

  test('gets only Reset until the store is complete, and then the state without asking again', async () => {
    const store = new GlobalStore()
    await using server = await testServer(store)
    using watch = rawWatch(server.address)
    watch.request('node-a')
    expect(await watch.take(1)).toEqual(['reset'])
    store.setService(sampleService('default/web'))
    store.markSynced('services')
    store.markSynced('endpoints')
    await quiet()
    expect(watch.pending).toEqual([])
    store.markSynced('nodes')
    expect(await watch.untilSync()).toEqual(['+ default/web 80', 'sync'])
  })

  test('gets an empty state as a state', async () => {
    await using server = await testServer(syncedStore())
    using watch = rawWatch(server.address)
    watch.request('node-a')
    expect(await watch.untilSync()).toEqual(['reset', 'sync'])
  })

  test('gets changes when it asks, all of them in one change set', async () => {
    const store = webStore()
    await using server = await testServer(store)
    using watch = rawWatch(server.address)
    watch.request('node-a')
    await watch.untilSync()
    for (const port of [81, 82]) {
      store.setService(sampleService('default/web', { port }))
      store.commit()
    }
    await quiet()
    expect(watch.pending).toEqual([])
    watch.request('node-a')
    expect(await watch.untilSync()).toEqual(['+ default/web 82', 'sync'])
  })

  test('that has asked hears of a change, and each request buys one change set', async () => {
    const store = webStore()
    await using server = await testServer(store)
    using watch = rawWatch(server.address)
    for (let i = 0; i < 3; i++) watch.request('node-a')
    await watch.untilSync()
    for (const port of [81, 82]) {
      store.setService(sampleService('default/web', { port }))
      expect(await watch.untilSync()).toEqual([`+ default/web ${port}`, 'sync'])
    }
    store.setService(sampleService('default/web', { port: 83 }))
    await quiet()
    expect(watch.pending).toEqual([])
  })

  test('sees the difference between two nodes after it has asked for the other one', async () => {
    await using server = await testServer(webStore())
    using watch = rawWatch(server.address)
    watch.request('node-a')
    await watch.untilSync()
    watch.request('node-b')
    expect(await watch.untilSync()).toEqual(['+ default/web/web-0 10.244.1.5 IE', 'sync'])
  })

  test('of two nodes gives each its own answer', async () => {
    const store = webStore()
    await using server = await testServer(store)
    using here = rawWatch(server.address)
    using there = rawWatch(server.address)
    here.request('node-a')
    there.request('node-b')
    expect(await here.untilSync()).toContain('+ default/web/web-0 10.244.1.5 local IE')
    expect(await there.untilSync()).toContain('+ default/web/web-0 10.244.1.5 IE')
  })

  test('of the whole cluster begins with the nodes', async () => {
    const store = webStore()
    store.setNode(sampleNode('node-a', 'z1'))
    await using server = await testServer(store)
    using watch = rawWatch(server.address, { path: globalWatchPath })
    watch.request('')
    const lines = await watch.untilSync()
    expect(lines.slice(0, 3)).toEqual(['reset', '+ |node-a|| z1', '+ default|web|| ClusterIP'])
    expect(lines[3]).toMatch(/^\+ default\|web\|web-abcde\|[\da-f]+ 10\.244\.1\.5$/)
    store.deleteService('default/web')
    store.deleteSource('default', 'web-abcde')
    store.deleteNode('node-a')
    watch.request('')
    expect((await watch.untilSync()).map((line) => line.split('|').slice(0, 3).join('|'))).toEqual([
      '- default|web|web-abcde',
      '- default|web|',
      '- |node-a|',
      'sync',
    ])
  })

  test('works under the name that it had before 2022-10', async () => {
    await using server = await testServer(webStore())
    using watch = rawWatch(server.address, { path: oldLocalWatchPath })
    watch.request('node-a')
    expect(await watch.untilSync()).toEqual(wholeState)
  })

  test('may ask for endpoints that no traffic may use here', async () => {
    const store = syncedStore()
    store.setService(sampleService('default/web', { ExternalTrafficToLocal: true, InternalTrafficToLocal: true }))
    setEndpoints(store, 'default/web', [{ ip: '10.244.1.5', pod: 'web-0', node: 'node-b' }])
    await using server = await testServer(store)
    using plain = rawWatch(server.address)
    using curious = rawWatch(server.address, { headers: { [unscopedHeader]: 'true' } })
    plain.request('node-a')
    curious.request('node-a')
    expect(await plain.untilSync()).toEqual(['reset', '+ default/web 80', 'sync'])
    expect(await curious.untilSync()).toContain('+ default/web/web-0 10.244.1.5 E')
  })
})

describe('a stream ends', () => {
  test('in good order when the server stops', async () => {
    const server = await testServer(webStore())
    using watch = rawWatch(server.address)
    watch.request('node-a')
    await watch.untilSync()
    await server[Symbol.asyncDispose]()
    expect(await watch.status()).toMatchObject({ code: 0 })
  })

  test('after what was asked for when the client asks no more', async () => {
    await using server = await testServer(webStore())
    using watch = rawWatch(server.address)
    watch.request('node-a')
    watch.halfClose()
    expect(await watch.untilSync()).toEqual(wholeState)
    expect(await watch.status()).toMatchObject({ code: 0 })
  })

  test('and frees its place when the client leaves', async () => {
    const counts: number[] = []
    const metrics = { clients: (_api: string, count: number) => counts.push(count), sent() {}, refused() {} }
    await using server = await testServer(webStore(), { metrics })
    using watch = rawWatch(server.address)
    watch.request('node-a')
    await watch.untilSync()
    watch.cancel()
    await expect.poll(() => counts).toEqual([1, 0])
  })

  test('when the client is too far behind: it is told to come again', async () => {
    const store = syncedStore({ maxBacklog: 5 })
    await using server = await testServer(store)
    using watch = rawWatch(server.address)
    watch.request('node-a')
    await watch.untilSync()
    for (let port = 1; port <= 20; port++) {
      store.setService(sampleService('default/web', { port }))
      store.commit()
    }
    expect(await watch.status()).toMatchObject({ code: 14, details: expect.stringContaining('reconnect') })
  })
})

describe('a server refuses', () => {
  test('what it does not serve', async () => {
    await using server = await testServer(webStore(), { servesGlobal: false })
    using global = rawWatch(server.address, { path: globalWatchPath })
    global.request('')
    expect(await global.status()).toMatchObject({ code: 12 })
    using other = rawWatch(server.address, { path: '/other.Sets/Watch' })
    expect(await other.status()).toMatchObject({ code: 12 })
  })

  test('more clients than it may have', async () => {
    await using server = await testServer(webStore(), { maxClients: 1 })
    using first = rawWatch(server.address)
    first.request('node-a')
    await first.untilSync()
    using second = rawWatch(server.address)
    second.request('node-a')
    expect(await second.status()).toMatchObject({ code: 8 })
  })

  test('a request that is too large', async () => {
    await using server = await testServer(webStore())
    using watch = rawWatch(server.address)
    watch.request('n'.repeat(5000))
    expect(await watch.status()).toMatchObject({ code: 8 })
  })

  test('a compressed request', async () => {
    await using server = await testServer(webStore())
    const session = connect(`http://${server.address}`)
    const stream = session.request({
      ':method': 'POST',
      ':path': '/localv1.Sets/Watch',
      'content-type': 'application/grpc',
    })
    const trailers = new Promise<Record<string, unknown>>((resolve) => stream.on('trailers', resolve))
    stream.write(Buffer.from([1, 0, 0, 0, 0]))
    stream.resume()
    expect(await trailers).toMatchObject({ 'grpc-status': '12' })
    session.destroy()
  })

  test('plaintext beyond this machine', async () => {
    const bind = { kind: 'tcp', host: '', port: 0 } as const
    await expect(testServer(webStore(), { bind })).rejects.toMatchObject({ reason: 'plaintext' })
  })
})

describe('a socket of this machine', () => {
  test.skipIf(process.platform === 'win32')(
    'is for its owner only, and a stale file makes way (not on Windows: a pipe is no file)',
    async () => {
      await using folder = await TemporaryFolder.make()
      const path = join(folder.path, 'api.sock')
      await leaveStaleSocket(path)
      await using server = await testServer(webStore(), { bind: { kind: 'unix', path } })
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      using watch = rawWatch(server.address)
      watch.request('node-a')
      expect(await watch.untilSync()).toEqual(wholeState)
    },
  )

  test('of a living server is left alone', async () => {
    await using folder = await TemporaryFolder.make()
    const bind = localBind(folder.path)
    await using server = await testServer(webStore(), { bind })
    await expect(testServer(webStore(), { bind })).rejects.toMatchObject({ reason: 'in-use' })
    using watch = rawWatch(server.address)
    watch.request('node-a')
    expect(await watch.untilSync()).toEqual(wholeState)
  })
})

/** A killed server leaves a socket file on which nothing listens. */
async function leaveStaleSocket(path: string): Promise<void> {
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
  expect((await stat(path)).isSocket()).toBe(true)
}

/** What clients may rely on when they watch. */
import { assert, describe, test } from 'vitest'
import { mergePatch, eventSummaries, table } from '../testing/contract-api.ts'
import type { ContractApi } from '../testing/contract-api.ts'

const streaming = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

export function watchContract(api: ContractApi): void {
  describe('watching', () => {
    test('tells every change since the list, once and in order', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'before')
      const list = await api.client.expect(200, 'GET', path)
      await api.createServices(path, 'a')
      await using watch = await api.client.watch(`${path}?watch=true&resourceVersion=${list.metadata.resourceVersion}`)
      assert.equal(watch.status, 200)
      await api.client.patch(`${path}/a`, mergePatch, { metadata: { labels: { a: '1' } } })
      await api.client.expect(200, 'DELETE', `${path}/a`)
      const events = await watch.take(3)
      assert.deepEqual(eventSummaries(events), ['ADDED a', 'MODIFIED a', 'DELETED a'])
      const versions = events.map(({ object }) => Number(object.metadata.resourceVersion))
      assert.isTrue(versions.every((version, index) => index === 0 || version > (versions[index - 1] ?? 0)))
      assert.equal(events[2]?.object.metadata.labels.a, '1')
      assert.deepEqual([events[0]?.object.kind, events[0]?.object.apiVersion], ['Service', 'v1'])
    })

    test('begins with what is there when no version is named', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a', 'b')
      for (const query of ['watch=true', 'watch=1&resourceVersion=0']) {
        await using watch = await api.client.watch(`${path}?${query}`)
        assert.sameMembers(eventSummaries(await watch.take(2)), ['ADDED a', 'ADDED b'], query)
      }
    })

    test('streams a list, marks its end and goes on', async () => {
      const path = await api.servicesPath()
      const created = await api.createServices(path, 'a', 'b')
      await using watch = await api.client.watch(`${path}?${streaming}`)
      const initial = await watch.until(({ type }) => type === 'BOOKMARK')
      assert.sameMembers(eventSummaries(initial.slice(0, -1)), ['ADDED a', 'ADDED b'])
      const bookmark = initial.at(-1)?.object
      assert.equal(bookmark?.kind, 'Service')
      assert.deepEqual(bookmark?.metadata.annotations, { 'k8s.io/initial-events-end': 'true' })
      assert.isAtLeast(Number(bookmark?.metadata.resourceVersion), Number(created.at(-1)?.metadata.resourceVersion))
      await api.createServices(path, 'c')
      const next = await watch.until(({ type }) => type !== 'BOOKMARK')
      assert.deepEqual(eventSummaries(next.slice(-1)), ['ADDED c'])
    })

    test('refuses watch parameters that contradict each other', async () => {
      const path = await api.servicesPath()
      for (const query of [
        'sendInitialEvents=true',
        'sendInitialEvents=true&resourceVersionMatch=Exact',
        'resourceVersionMatch=NotOlderThan',
      ]) {
        const refused = await api.client.expect(422, 'GET', `${path}?watch=true&allowWatchBookmarks=true&${query}`)
        assert.equal(refused.reason, 'Invalid', query)
      }
    })

    test('tells an object that begins or ceases to match as added or deleted', async () => {
      const path = await api.servicesPath()
      const list = await api.client.expect(200, 'GET', path)
      const selector = encodeURIComponent('!hidden')
      const query = `watch=true&resourceVersion=${list.metadata.resourceVersion}&labelSelector=${selector}`
      await using watch = await api.client.watch(`${path}?${query}`)
      await api.createServices(path, 'web')
      await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { hidden: '' } } })
      await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { other: '1' } } })
      const shown = await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { hidden: null } } })
      await api.client.patch(`${path}/web`, mergePatch, { metadata: { labels: { other: '2' } } })
      const events = await watch.take(4)
      assert.deepEqual(eventSummaries(events), ['ADDED web', 'DELETED web', 'ADDED web', 'MODIFIED web'])
      assert.notExists(events[1]?.object.metadata.labels?.hidden)
      assert.equal(events[2]?.object.metadata.resourceVersion, shown.json.metadata.resourceVersion)
    })

    test('of one name tells nothing of others', async () => {
      const path = await api.servicesPath()
      const list = await api.client.expect(200, 'GET', path)
      const query = `watch=true&resourceVersion=${list.metadata.resourceVersion}&fieldSelector=metadata.name%3Db`
      await using watch = await api.client.watch(`${path}?${query}`)
      await api.createServices(path, 'a', 'b')
      assert.deepEqual(eventSummaries(await watch.take(1)), ['ADDED b'])
    })

    test('ends when its time is up', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a')
      await using watch = await api.client.watch(`${path}?watch=true&timeoutSeconds=1`)
      assert.deepEqual(eventSummaries(await watch.rest()), ['ADDED a'])
    })

    test('tells tables, with the columns in the first one only', async () => {
      const path = await api.servicesPath()
      await api.createServices(path, 'a', 'b')
      await using watch = await api.client.watch(`${path}?watch=true`, { accept: table })
      const [first, second] = await watch.take(2)
      assert.equal(first?.object.kind, 'Table')
      assert.isAbove(first?.object.columnDefinitions.length, 3)
      assert.equal(first?.object.rows[0].object.kind, 'PartialObjectMetadata')
      assert.notExists(second?.object.columnDefinitions)
      assert.equal(second?.object.rows.length, 1)
    })

    test('says in the stream that a version is too old', async (context) => {
      context.skip(api.server.expireRevision === undefined, 'this server cannot be told to forget')
      const path = await api.servicesPath()
      const revision = await api.server.expireRevision?.()
      await using watch = await api.client.watch(`${path}?watch=true&resourceVersion=${revision}`)
      assert.equal(watch.status, 200)
      const events = await watch.rest()
      assert.deepEqual(
        events.map(({ type, object }) => [type, object.kind, object.code, object.reason]),
        [['ERROR', 'Status', 410, 'Expired']],
      )
    })
  })
}

import { describe, expect, test } from 'vitest'
import { sampleNode, sampleService, setEndpoints, syncedStore } from '../testing/cluster-samples.ts'
import { framesOf, opLines } from '../testing/readable-frames.ts'
import type { GlobalStore } from './global-store.ts'
import { LocalAnswers } from './local-answers.ts'
import { LocalCursor } from './local-cursor.ts'

const both = { ExternalTrafficToLocal: true, InternalTrafficToLocal: true }

function cursorOf(store: GlobalStore, wantsUnscoped = false) {
  const cursor = new LocalCursor({ store, answers: new LocalAnswers(store), wantsUnscoped, onExpired: () => {} })
  return {
    cursor,
    next: (node = 'node-a') => {
      store.commit()
      return opLines(framesOf(cursor.advance(node)))
    },
  }
}

describe('the first answer', () => {
  test('has every Service before every endpoint, each in the order of their bytes', () => {
    const store = syncedStore()
    for (const path of ['default/aaa-udp', 'default/aaa', 'kube-system/dns']) {
      store.setService(sampleService(path))
      setEndpoints(store, path, [{ ip: '10.1.0.1', pod: 'p' }])
    }
    expect(cursorOf(store).next()).toEqual([
      '+ default/aaa 80',
      '+ default/aaa-udp 80',
      '+ kube-system/dns 80',
      '+ default/aaa-udp/p 10.1.0.1 IE',
      '+ default/aaa/p 10.1.0.1 IE',
      '+ kube-system/dns/p 10.1.0.1 IE',
    ])
  })

  test('has no endpoint of a Service that does not exist', () => {
    const store = syncedStore()
    setEndpoints(store, 'default/ghost', [{ ip: '10.1.0.1' }])
    expect(cursorOf(store).next()).toEqual([])
  })
})

describe('later answers', () => {
  test('are empty when nothing of this node changed', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [{ ip: '10.1.0.1' }, { ip: '10.1.0.9', ready: false }])
    const { next } = cursorOf(store)
    next()
    setEndpoints(store, 'default/web', [{ ip: '10.1.0.1' }, { ip: '10.1.0.8', ready: false }])
    expect(next()).toEqual([])
  })

  test('have one operation for what changed many times', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    const { next } = cursorOf(store)
    next()
    for (const port of [81, 82, 83]) {
      store.setService(sampleService('default/web', { port }))
      store.commit()
    }
    expect(next()).toEqual(['+ default/web 83'])
  })

  test('do not mention what came and went', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    const { next } = cursorOf(store)
    next()
    store.setService(sampleService('default/brief'))
    store.commit()
    store.deleteService('default/brief')
    expect(next()).toEqual([])
  })

  test('delete endpoints before their Service, and downwards', () => {
    const store = syncedStore()
    for (const path of ['default/a', 'default/b']) {
      store.setService(sampleService(path))
      setEndpoints(store, path, [
        { ip: '10.1.0.1', pod: 'p' },
        { ip: '10.1.0.2', pod: 'q' },
      ])
    }
    const { next } = cursorOf(store)
    next()
    for (const path of ['default/a', 'default/b']) {
      store.deleteService(path)
      setEndpoints(store, path, [])
    }
    store.setService(sampleService('default/c'))
    expect(next()).toEqual([
      '+ default/c 80',
      '- default/b/q',
      '- default/b/p',
      '- default/a/q',
      '- default/a/p',
      '- default/b',
      '- default/a',
    ])
  })

  test('keep the path of a pod that changes its address', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [{ ip: '10.1.0.1', pod: 'web-0' }])
    const { next } = cursorOf(store)
    next()
    setEndpoints(store, 'default/web', [{ ip: '10.1.0.2', pod: 'web-0' }])
    expect(next()).toEqual(['+ default/web/web-0 10.1.0.2 IE'])
  })

  test('delete an anonymous endpoint before they set the one in its place', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [{ ip: '10.244.1.5' }])
    const { next } = cursorOf(store)
    expect(next()).toEqual(['+ default/web 80', '+ default/web/7aa86dc344e7c380 10.244.1.5 IE'])
    setEndpoints(store, 'default/web', [{ ip: '10.244.1.6' }])
    expect(next()).toEqual(['- default/web/7aa86dc344e7c380', expect.stringMatching(/^\+ .* 10\.244\.1\.6 IE$/)])
  })

  test('are the difference between two nodes when the peer asks for another one', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [
      { ip: '10.1.0.1', pod: 'a', node: 'node-a' },
      { ip: '10.1.0.3', pod: 'c', node: 'node-c' },
    ])
    const { next } = cursorOf(store)
    expect(next('node-a')).toContain('+ default/web/a 10.1.0.1 local IE')
    expect(next('node-b')).toEqual(['+ default/web/a 10.1.0.1 IE'])
    expect(next('node-c')).toEqual(['+ default/web/c 10.1.0.3 local IE'])
  })
})

describe('a dual-stack pod', () => {
  test('has one path for each family, and neither is sent again later', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [{ ip: 'fd00::5', pod: 'web-0' }], 'web-6')
    setEndpoints(store, 'default/web', [{ ip: '10.1.0.1', pod: 'web-0' }], 'web-4')
    const { next } = cursorOf(store)
    expect(next()).toEqual([
      '+ default/web 80',
      '+ default/web/web-0 10.1.0.1 IE',
      '+ default/web/web-0@web-6 fd00::5 IE',
    ])
    store.setService(sampleService('default/web', { port: 81 }))
    expect(next()).toEqual(['+ default/web 81'])
  })
})

describe('traffic policies', () => {
  const cases = [
    ['Cluster', 'Cluster', {}, 'IE'],
    ['Cluster', 'Local', { ExternalTrafficToLocal: true }, 'I'],
    ['Local', 'Cluster', { InternalTrafficToLocal: true }, 'E'],
    ['Local', 'Local', both, undefined],
  ] as const
  test.each(cases)('internal %s, external %s', (_internal, _external, policy, remote) => {
    const store = syncedStore()
    store.setService(sampleService('default/web', policy))
    setEndpoints(store, 'default/web', [
      { ip: '10.1.0.1', pod: 'here', node: 'node-a' },
      { ip: '10.1.0.2', pod: 'there', node: 'node-b' },
    ])
    expect(cursorOf(store).next()).toEqual([
      '+ default/web 80',
      '+ default/web/here 10.1.0.1 local IE',
      ...(remote === undefined ? [] : [`+ default/web/there 10.1.0.2 ${remote}`]),
    ])
  })

  test('who asks for it also learns of endpoints that it may not use', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web', both))
    setEndpoints(store, 'default/web', [
      { ip: '10.1.0.1', pod: 'here', node: 'node-a', ready: false, terminating: true },
      { ip: '10.1.0.2', pod: 'there', node: 'node-b' },
    ])
    // With both policies Local, E marks the endpoints that serve the whole cluster.
    expect(cursorOf(store, true).next()).toEqual([
      '+ default/web 80',
      '+ default/web/here 10.1.0.1 local I',
      '+ default/web/there 10.1.0.2 E',
    ])
    expect(cursorOf(store, false).next()).toEqual(['+ default/web 80', '+ default/web/here 10.1.0.1 local IE'])
  })
})

describe('topology and health', () => {
  test('hints count when all endpoints have them and one is for the zone; a node without a zone gets all', () => {
    const store = syncedStore()
    store.setNode(sampleNode('node-1', 'z1'))
    store.setNode(sampleNode('node-3', 'z3'))
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [
      { ip: '10.1.0.1', pod: 'a', zones: ['z1'] },
      { ip: '10.1.0.2', pod: 'b', zones: ['z2'] },
    ])
    const endpointsOf = (node: string) =>
      cursorOf(store)
        .next(node)
        .slice(1)
        .map((line) => line.split(' ')[1])
    expect(endpointsOf('node-1')).toEqual(['default/web/a'])
    expect(endpointsOf('node-3')).toEqual(['default/web/a', 'default/web/b'])
    expect(endpointsOf('unknown')).toEqual(['default/web/a', 'default/web/b'])
  })

  test('a node that moves to another zone is told what that changes', () => {
    const store = syncedStore()
    store.setNode(sampleNode('node-a', 'z1'))
    store.setService(sampleService('default/plain'))
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/plain', [{ ip: '10.1.0.1', pod: 'p' }])
    setEndpoints(store, 'default/web', [
      { ip: '10.1.0.1', pod: 'a', zones: ['z1'] },
      { ip: '10.1.0.2', pod: 'b', zones: ['z2'] },
    ])
    const { next } = cursorOf(store)
    next()
    store.setNode(sampleNode('node-a', 'z2'))
    expect(next()).toEqual(['+ default/web/b 10.1.0.2 IE', '- default/web/a'])
  })

  test('endpoints that shut down serve while there is nobody else', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    setEndpoints(store, 'default/web', [{ ip: '10.1.0.1', pod: 'a', ready: false, terminating: true }])
    const { next } = cursorOf(store)
    expect(next()).toContain('+ default/web/a 10.1.0.1 IE')
    setEndpoints(store, 'default/web', [
      { ip: '10.1.0.1', pod: 'a', ready: false, terminating: true },
      { ip: '10.1.0.2', pod: 'b' },
    ])
    expect(next()).toEqual(['+ default/web/b 10.1.0.2 IE', '- default/web/a'])
  })
})

describe('the past', () => {
  test('is remembered for the slowest reader only, and forgotten when it has caught up or left', () => {
    const store = syncedStore()
    store.setService(sampleService('default/web'))
    const slow = cursorOf(store)
    const quick = cursorOf(store)
    slow.next()
    for (let port = 1; port <= 100; port++) {
      store.setService(sampleService('default/web', { port }))
      quick.next()
    }
    expect(store.services.weight).toBe(100)
    expect(slow.next()).toEqual(['+ default/web 100'])
    store.setService(sampleService('default/web', { port: 101 }))
    quick.next()
    slow.next()
    store.setService(sampleService('default/web', { port: 102 }))
    store.commit()
    expect(store.services.weight).toBeLessThanOrEqual(2)
    slow.cursor[Symbol.dispose]()
    quick.cursor[Symbol.dispose]()
    store.setService(sampleService('default/web', { port: 103 }))
    store.commit()
    expect(store.services.weight).toBe(0)
  })

  test('a reader that falls too far behind is told to start anew', () => {
    const store = syncedStore({ maxBacklog: 10 })
    let isExpired = false
    const answers = new LocalAnswers(store)
    const cursor = new LocalCursor({ store, answers, wantsUnscoped: false, onExpired: () => (isExpired = true) })
    cursor.advance('node-a')
    for (let port = 1; port <= 30; port++) {
      store.setService(sampleService('default/web', { port }))
      store.commit()
    }
    expect(isExpired).toBe(true)
    expect(store.services.weight).toBeLessThanOrEqual(10)
  })

  test('a change of many endpoints counts as many', () => {
    const store = syncedStore({ maxBacklog: 1000 })
    store.setService(sampleService('default/web'))
    const expired: string[] = []
    const cursors = ['slow', 'quick'].map((name) => {
      const answers = new LocalAnswers(store)
      return new LocalCursor({ store, answers, wantsUnscoped: false, onExpired: () => expired.push(name) })
    })
    store.commit()
    for (const cursor of cursors) cursor.advance('node-a')
    for (let round = 1; round <= 6; round++) {
      setEndpoints(
        store,
        'default/web',
        Array.from({ length: 200 }, (_, host) => ({ ip: `10.1.${round}.${host}`, pod: `pod-${host}`, node: 'node-b' })),
      )
      store.commit()
      cursors[1]?.advance('node-a')
    }
    expect(expired).toEqual(['slow'])
    expect(store.services.weight).toBeLessThanOrEqual(1000)
  })
})

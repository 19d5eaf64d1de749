import { expect, test } from 'vitest'
import { memoryHost } from '../host/testing/memory-host.ts'
import { leftoversOnNode } from './leftovers-on-node.ts'

const never = new AbortController().signal

test('Windows is not asked for anything that only Linux has', async () => {
  const asked: string[] = []
  const openNetlink = () => {
    asked.push('netlink')
    return Promise.reject(new Error('no netlink'))
  }
  const host = memoryHost({ platform: 'win32', openNetlink })
  expect(await leftoversOnNode({ host, stateDir: '/nowhere', pins: '/nowhere' }, never)).toMatchObject({
    removals: [],
    problems: [],
  })
  expect([...asked, ...host.commands]).toEqual([])
})

import { expect, test } from 'vitest'
import { openInEach } from './open-in-each.ts'
import type { NamespaceDoors } from './open-in-each.ts'

/** A thread that finds a namespace for each cookie, and may open so many sockets. */
function threadWith(cookies: readonly bigint[], mostSockets = Infinity) {
  const open = new Map<number, bigint>()
  let [where, fds] = [1n, 0]
  const doors: NamespaceDoors = {
    paths: cookies.map((cookie) => ({ path: String(cookie) })),
    enter(path) {
      where = BigInt(path)
      return 'yes'
    },
    openSocket() {
      if (open.size >= mostSockets) throw new Error('EMFILE')
      open.set(++fds, where)
      return fds
    },
    namespaceOf: (fd) => open.get(fd),
    close: (fd) => void open.delete(fd),
  }
  return { open, doors }
}

test.each([
  ['all', [1n, 2n, 3n]],
  [[3n], [3n]],
] as const)('of %s, each is opened once, and nothing else stays open', (wanted, expected) => {
  const { open, doors } = threadWith([2n, 3n, 2n])
  const { opened } = openInEach(wanted, doors)
  expect(opened.map(({ netns }) => netns)).toEqual(expected)
  expect([...open]).toEqual(opened.map(({ netns, fd }) => [fd, netns]))
})

test('where one cannot be opened, none stays open', () => {
  const { open, doors } = threadWith([2n, 3n], 2)
  expect(() => openInEach('all', doors)).toThrow('EMFILE')
  expect([...open]).toEqual([])
})

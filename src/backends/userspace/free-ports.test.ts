import { expect, test } from 'vitest'
import { FreePorts, parsePortList, parsePortRange } from './free-ports.ts'

/** Throws these numbers, over and over. */
function dice(...numbers: readonly number[]) {
  let thrown = 0
  return () => numbers[thrown++ % numbers.length] ?? 0
}

const range = { first: 100, last: 109 }

test('guesses lie in the range, and the kernel is asked last', () => {
  expect(new FreePorts({ range, random: dice(0, 0.55, 0.999, 0.3) }).candidates('TCP')).toEqual([100, 105, 109, 103, 0])
})

test('a port that is taken is not guessed, until it is given back; protocols do not share ports', () => {
  const ports = new FreePorts({ range, random: dice(0, 0.1) })
  ports.take('TCP', 100)
  expect(ports.candidates('TCP')).toEqual([101, 0])
  expect(ports.candidates('UDP')).toEqual([100, 101, 0])
  ports.giveBack('TCP', 100)
  expect(ports.candidates('TCP')).toContain(100)
})

test('with a binding range each free port of it is tried, and no other', () => {
  const ports = new FreePorts({ range, isRangeBinding: true, random: dice(0.75) })
  ports.take('TCP', 100)
  ports.take('TCP', 108)
  ports.take('TCP', 30_080)
  expect([...ports.candidates('TCP')]).toEqual([107, 109, 101, 102, 103, 104, 105, 106])
  expect([...ports.candidates('UDP')]).toHaveLength(10)
  for (let port = range.first; port <= range.last; port++) ports.take('TCP', port)
  expect([...ports.candidates('TCP')]).toEqual([])
  ports.giveBack('TCP', 103)
  expect([...ports.candidates('TCP')]).toEqual([103])
})

test('when all are taken, only the kernel is asked', () => {
  const ports = new FreePorts({ range })
  for (let port = range.first; port <= range.last; port++) ports.take('TCP', port)
  expect(ports.candidates('TCP')).toEqual([0])
})

test('a port that is kept free for others is not guessed', () => {
  const reserved = parsePortList('102-104,109\n')
  expect(reserved).toEqual([
    { first: 102, last: 104 },
    { first: 109, last: 109 },
  ])
  const ports = new FreePorts({ range, reserved, random: dice(0.2, 0.4, 0.99, 0.5) })
  expect(ports.candidates('TCP')).toEqual([105, 0])
  expect(parsePortList('\n')).toEqual([])
})

test.each([
  ['32768\t60999\n', { first: 32_768, last: 60_999 }],
  ['1024 2048', { first: 1024, last: 2048 }],
  ['2048 1024', undefined],
  ['1 70000', undefined],
  ['', undefined],
])('the range %j is read as %j', (text, expected) => {
  expect(parsePortRange(text)).toEqual(expected)
})

test('says how many ports of its range are left, those that others have reserved not among them', () => {
  const ports = new FreePorts({
    range: { first: 100, last: 199 },
    reserved: [
      { first: 1, last: 109 },
      { first: 150, last: 150 },
    ],
  })
  expect(ports.countFree('TCP')).toBe(89)
  ports.take('TCP', 120)
  ports.take('TCP', 105)
  ports.take('UDP', 121)
  expect([ports.countFree('TCP'), ports.countFree('UDP')]).toEqual([88, 88])
  ports.giveBack('TCP', 120)
  expect(ports.countFree('TCP')).toBe(89)
})

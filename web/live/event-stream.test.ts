import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventStreamReader } from './event-stream.ts'

test('an event has a name and data; comments and unknown fields are nothing', () => {
  const events = new EventStreamReader().read(
    ': hello\n\nid: 7\nevent: about\ndata: {"a":1}\n\nevent: empty\n\ndata: x\n\n',
  )
  expect(events).toEqual([
    { name: 'about', data: '{"a":1}' },
    { name: 'message', data: 'x' },
  ])
})

test('several lines of data are one text, and lines may end as on Windows', () => {
  const events = new EventStreamReader().read('event:two\r\ndata:a\r\ndata: b\r\ndata\r\n\r\n')
  expect(events).toEqual([{ name: 'two', data: 'a\nb\n' }])
})

test('wherever the text is cut, the events are the same', () => {
  const text =
    ': here\n\nevent: services\ndata: {"rows":[]}\n\n\n\nevent: service\r\ndata: é😀\r\n\r\ndata: last\n\nevent: unfinished\ndata: 1\n'
  const whole = new EventStreamReader().read(text)
  expect(whole).toHaveLength(3)
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const reader = new EventStreamReader()
      const ends = [...cuts.sort((a, b) => a - b), text.length]
      let from = 0
      const events = ends.flatMap((end) => {
        const piece = text.slice(from, end)
        from = end
        return reader.read(piece)
      })
      expect(events).toEqual(whole)
    }),
  )
})

import { expect, test } from 'vitest'
import { renderTable } from './table.ts'

const header = ['SERVICE', 'TRY', 'ENDPOINTS']
const rows = [
  ['shop/api:http', 'curl http://127.0.0.1:8081', '127.0.0.1:39211, 127.0.0.1:40213 (each client keeps one)'],
  ['shop/closed:http', 'curl http://127.0.0.1:8083', 'none: connections are reset'],
]

test('in a pipe each row is one line, columns three spaces apart', () => {
  expect(renderTable(header, rows)).toBe(
    'SERVICE            TRY                          ENDPOINTS\n' +
      'shop/api:http      curl http://127.0.0.1:8081   127.0.0.1:39211, 127.0.0.1:40213 (each client keeps one)\n' +
      'shop/closed:http   curl http://127.0.0.1:8083   none: connections are reset\n',
  )
})

test('on a terminal that is too narrow the last column is broken between words, under itself', () => {
  expect(renderTable(header, rows, 80)).toBe(
    'SERVICE           TRY                         ENDPOINTS\n' +
      'shop/api:http     curl http://127.0.0.1:8081  127.0.0.1:39211, 127.0.0.1:40213\n' +
      '                                              (each client keeps one)\n' +
      'shop/closed:http  curl http://127.0.0.1:8083  none: connections are reset\n',
  )
})

test('where it has no room at all, the last column goes below the others', () => {
  expect(renderTable(header, rows, 50)).toBe(
    'SERVICE           TRY\n' +
      '    ENDPOINTS\n' +
      'shop/api:http     curl http://127.0.0.1:8081\n' +
      '    127.0.0.1:39211, 127.0.0.1:40213 (each client\n' +
      '    keeps one)\n' +
      'shop/closed:http  curl http://127.0.0.1:8083\n' +
      '    none: connections are reset\n',
  )
})

test('a terminal that is wide enough changes nothing', () => {
  expect(renderTable(header, rows, 104)).toBe(renderTable(header, rows))
})

import { expect, test } from 'vitest'
import { proxyHeader } from './proxy-protocol.ts'

const client = { ip: '198.51.100.7', port: 50_001 }
const service = { ip: '10.96.7.7', port: 80 }

test('version 1 is a line of text', () => {
  expect(proxyHeader('v1', client, service).toString()).toBe('PROXY TCP4 198.51.100.7 10.96.7.7 50001 80\r\n')
  const [client6, service6] = [
    { ip: '2001:db8::7', port: 1 },
    { ip: 'fd00::1', port: 65_535 },
  ]
  expect(proxyHeader('v1', client6, service6).toString()).toBe('PROXY TCP6 2001:db8::7 fd00::1 1 65535\r\n')
})

test('version 2 is a signature, the kind, the length and the addresses', () => {
  expect(proxyHeader('v2', client, service).toString('hex')).toBe(
    ['0d0a0d0a000d0a515549540a', '21', '11', '000c', 'c6336407', '0a600707', 'c351', '0050'].join(''),
  )
  const header = proxyHeader('v2', { ip: '2001:db8::7', port: 1 }, { ip: 'fd00::1', port: 65_535 })
  expect(header.toString('hex').slice(24)).toBe(
    ['21', '21', '0024', '20010db8000000000000000000000007', 'fd000000000000000000000000000001', '0001', 'ffff'].join(
      '',
    ),
  )
})

import { expect, test } from 'vitest'
import { parseQuestion } from './parse-question.ts'
import type { AskedTexts } from './parse-question.ts'

function parsed(target: string, rest: Partial<AskedTexts> = {}) {
  const read = parseQuestion({ target, from: '', namespace: 'default', port: '', ...rest })
  return read.ok ? read.question : read.problem
}

test.each([
  ['10.96.0.10:53/udp', { kind: 'address', ip: '10.96.0.10', port: 53, protocol: 'UDP' }],
  ['10.96.0.10:80', { kind: 'address', ip: '10.96.0.10', port: 80, protocol: 'TCP' }],
  ['[fd00::000a]:80/SCTP', { kind: 'address', ip: 'fd00::a', port: 80, protocol: 'SCTP' }],
  ['10.96.0.10/icmp', { kind: 'address', ip: '10.96.0.10', port: 0, protocol: 'ICMP' }],
  ['fd00::a/icmp', { kind: 'address', ip: 'fd00::a', port: 0, protocol: 'ICMP' }],
  ['node-port 30080', { kind: 'node-port', port: 30_080, protocol: 'TCP' }],
  ['node-port 30053/udp', { kind: 'node-port', port: 30_053, protocol: 'UDP' }],
  ['nodeport/30080', { kind: 'node-port', port: 30_080, protocol: 'TCP' }],
  ['service/web', { kind: 'service', namespace: 'default', name: 'web', port: undefined }],
  ['svc/shop/web:http', { kind: 'service', namespace: 'shop', name: 'web', port: 'http' }],
  ['service web', { kind: 'service', namespace: 'default', name: 'web', port: undefined }],
])('%s is read', (text, target) => {
  expect(parsed(text)).toEqual({ target, from: { kind: 'unsaid' } })
})

test('namespace, port and client are read', () => {
  expect(parsed('service/web', { namespace: 'shop', port: 'http', from: 'outside' })).toEqual({
    target: { kind: 'service', namespace: 'shop', name: 'web', port: 'http' },
    from: { kind: 'outside' },
  })
  expect(parsed('node-port 1', { from: 'host' })).toMatchObject({ from: { kind: 'host' } })
  expect(parsed('node-port 1', { from: 'pod' })).toMatchObject({ from: { kind: 'pod' } })
  expect(parsed('node-port 1', { from: '[fd00::0:5]' })).toMatchObject({ from: { kind: 'ip', ip: 'fd00::5' } })
})

test.each([
  ['', {}, /ask for IP:PORT/],
  ['web', {}, /"web" is no address: ask for IP:PORT\[\/tcp\|udp\|sctp\], service\/NAME or node-port/],
  ['10.96.0.10', {}, /"10.96.0.10" has no port: write 10.96.0.10:PORT, or 10.96.0.10\/icmp for a ping/],
  ['fd00::a', {}, /"fd00::a" has no port: write \[fd00::a\]:PORT/],
  ['10.96.0.10:99999', {}, /"99999" is no port/],
  ['10.96.0.10:80/quic', {}, /"quic" is no protocol: use tcp, udp or sctp/],
  ['10.96.0.10:80/icmp', {}, /a ping has no port: ask for 10.96.0.10\/icmp/],
  ['10.96.0.300:80', {}, /is no address/],
  ['node-port web', {}, /"web" is no port/],
  ['node-port 30080/icmp', {}, /"icmp" is no protocol/],
  ['service/', {}, /is no/],
  ['service/a/b/c', {}, /is no Service: write service\/NAME/],
  ['service/web:http', { port: 'https' }, /leave one of them out/],
  ['10.96.0.10:80', { port: 'http' }, /--port is for a Service/],
  ['10.96.0.10:80', { from: 'mars' }, /--from=mars is not known: use outside, host, pod, or the IP address/],
])('%s is a mistake that says how to ask', (text, rest, problem) => {
  expect(parsed(text, rest)).toMatch(problem)
})

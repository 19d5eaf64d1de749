import { expect, test } from 'vitest'
import { canonicalEntry, entryForTool, parseEntry, parseSaved } from './ipset-text.ts'

test('an entry has one canonical text, however it was written', () => {
  for (const [written, canonical] of [
    ['10.96.0.10', '10.96.0.10'],
    ['30080', '30080'],
    ['10.96.0.10,tcp:80', '10.96.0.10,tcp:80'],
    ['10.96.0.10,TCP:080', '10.96.0.10,tcp:80'],
    // Without /etc/protocols the tool prints numbers.
    ['10.96.0.10,6:80', '10.96.0.10,tcp:80'],
    ['10.96.0.10,17:53', '10.96.0.10,udp:53'],
    ['10.96.0.10,132:9', '10.96.0.10,sctp:9'],
    ['FD00:0:0::10,tcp:80', 'fd00::10,tcp:80'],
    ['10.64.0.1,tcp:80,10.64.0.1', '10.64.0.1,tcp:80,10.64.0.1'],
    ['10.96.0.10,tcp:80,192.0.2.7/24', '10.96.0.10,tcp:80,192.0.2.0/24'],
    // A network of one address is printed without its length.
    ['10.96.0.10,tcp:80,192.0.2.7/32', '10.96.0.10,tcp:80,192.0.2.7'],
    ['fd00::10,tcp:80,2001:db8::1/128', 'fd00::10,tcp:80,2001:db8::1'],
  ] as const)
    expect(canonicalEntry(written)).toBe(canonical)
})

test('what is no entry is told apart', () => {
  for (const text of [
    '',
    'web',
    '70000',
    '10.96.0.300',
    '10.96.0.10,80',
    '10.96.0.10,icmp:8',
    '10.96.0.10,tcp:70000',
    '10.96.0.10,tcp:80,nowhere',
    '10.96.0.10,tcp:80,10.0.0.0/33',
    '10.96.0.10,tcp:80,10.0.0.1,more',
  ])
    expect(canonicalEntry(text)).toBeUndefined()
})

test('the tool is given protocols by number, which it understands everywhere', () => {
  const forTool = (text: string) => entryForTool(parseEntry(text) ?? {})
  expect(forTool('10.96.0.10,sctp:9')).toBe('10.96.0.10,132:9')
  expect(forTool('10.96.0.10,tcp:80,192.0.2.0/24')).toBe('10.96.0.10,6:80,192.0.2.0/24')
  expect(forTool('30080')).toBe('30080')
  expect(forTool('10.96.0.10')).toBe('10.96.0.10')
})

test('sets are read with type, family and entries', async () => {
  const saved = `create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536 bucketsize 12 initval 0x9
add KUBE-CLUSTER-IP 10.96.0.10,tcp:80
add KUBE-CLUSTER-IP 10.96.0.11,17:53
create KUBE-6-LOAD-BALANCER-SOURCE-CID hash:ip,port,net family inet6 hashsize 1024 maxelem 65536
create KUBE-NODE-PORT-TCP bitmap:port range 0-65535
add KUBE-NODE-PORT-TCP 30080
`
  expect(await parseSaved(saved)).toEqual([
    {
      name: 'KUBE-CLUSTER-IP',
      type: 'hash:ip,port',
      family: 'ipv4',
      entries: new Set(['10.96.0.10,tcp:80', '10.96.0.11,udp:53']),
    },
    { name: 'KUBE-6-LOAD-BALANCER-SOURCE-CID', type: 'hash:ip,port,net', family: 'ipv6', entries: new Set() },
    { name: 'KUBE-NODE-PORT-TCP', type: 'bitmap:port', family: undefined, entries: new Set(['30080']) },
  ])
})

test('entries of somebody else are listed too, without what the set stores beside them', async () => {
  const saved = `create theirs hash:net family inet hashsize 1024 maxelem 65536 timeout 60 comment
add theirs 192.0.2.0/24 timeout 55 comment "ours"
`
  expect(await parseSaved(saved)).toEqual([
    { name: 'theirs', type: 'hash:net', family: 'ipv4', entries: new Set(['192.0.2.0/24']) },
  ])
})

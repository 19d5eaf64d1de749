import { expect, test } from 'vitest'
import { parseSaved } from './saved-sets.ts'

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

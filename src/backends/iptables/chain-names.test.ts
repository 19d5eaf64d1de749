import { expect, test } from 'vitest'
import type { Protocol } from '../../api/records.ts'
import { serviceChainNames } from './chain-names.ts'
import { probabilityText } from '../../dataplane/iptables/language/probability-text.ts'

const names = (namespace: string, name: string, portName: string, protocol: Protocol) =>
  serviceChainNames({ namespace, name, portName, protocol })

test.each([
  ['default', 'kubernetes', 'https', 'TCP', 'NPX46M4PTMTKRN6Y'],
  ['kube-system', 'kube-dns', 'dns', 'UDP', 'TCOU7JCQXEZGVUNU'],
  ['kube-system', 'kube-dns', 'dns-tcp', 'TCP', 'ERIFXISQEP7F7OF4'],
  ['kube-system', 'kube-dns', 'metrics', 'TCP', 'JD5MR3NA4I4DYORP'],
  ['kube-system', 'kube-dns', '', 'UDP', 'GTAKZ6FHUTF7RBRM'],
  ['shop', 'web', 'http', 'TCP', '67NZLRHBNDSAWJRO'],
  ['shop', 'sig', 's1', 'SCTP', 'NM3L67AFCAAXSVDK'],
] as const)('%s/%s:%s/%s has the chains kube-proxy gives it', (namespace, name, portName, protocol, hash) => {
  const { cluster, local, external, firewall } = names(namespace, name, portName, protocol)
  expect([cluster, local, external, firewall]).toEqual([
    `KUBE-SVC-${hash}`,
    `KUBE-SVL-${hash}`,
    `KUBE-EXT-${hash}`,
    `KUBE-FW-${hash}`,
  ])
})

test.each([
  ['shop', 'web', 'http', 'TCP', '10.244.1.5:8080', '34ZZ2QFGO32YYXXO'],
  ['shop', 'web', 'http', 'TCP', '[fd00:244:1::5]:8080', 'FJBKCOXCXBCRJ3RF'],
  ['kube-system', 'kube-dns', '', 'UDP', '10.244.2.7:53', 'PLAEKGMHCGIH2VKF'],
] as const)(
  'an endpoint of %s/%s:%s/%s at %s has the chain kube-proxy gives it',
  (namespace, name, port, protocol, address, hash) => {
    expect(names(namespace, name, port, protocol).endpoint({ address })).toBe(`KUBE-SEP-${hash}`)
  },
)

test('probabilities are printed as Go prints them, and grow as fewer choices are left', () => {
  const texts = [1, 2, 3, 7, 10, 100, 1000, 2048, 10_000, 100_000, 100_001].map(probabilityText)
  expect(texts).toEqual([
    '1.0000000000',
    '0.5000000000',
    '0.3333333333',
    '0.1428571429',
    '0.1000000000',
    '0.0100000000',
    '0.0010000000',
    '0.0004882812',
    '0.0001000000',
    '0.0000100000',
    '0.0000099999',
  ])
  for (let n = 100_000; n > 2; n--)
    if (Number(probabilityText(n)) >= Number(probabilityText(n - 1))) throw new Error(`at ${n}`)
})

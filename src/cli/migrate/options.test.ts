import { describe, expect, test } from 'vitest'
import { daemonFlags } from '../../config/daemon/daemon-flags.ts'
import type { DaemonFlagName } from '../../config/daemon/daemon-flags.ts'
import { fairleadFlags } from '../../config/daemon/fairlead-flags.ts'
import type { Flag } from '../../config/flags/flag.ts'
import { fieldPaths } from '../../config/testing/documented.ts'
import { compare } from './compare.ts'
import { allModes } from './difference.ts'
import { fieldAnswers, flagAnswers, flagOverrides } from './options.ts'
import { readGiven } from './read-given.ts'

/** As `kube-proxy --help` of 1.36.4 has them, on Linux and on Windows. */
const flagsOfKubeProxy = `
  bind-address bind-address-hard-fail boot-id-file cleanup cluster-cidr config config-sync-period
  conntrack-max-per-core conntrack-min conntrack-tcp-be-liberal conntrack-tcp-timeout-close-wait
  conntrack-tcp-timeout-established conntrack-udp-timeout conntrack-udp-timeout-stream detect-local-mode
  enable-dsr feature-gates forward-healthcheck-vip healthz-bind-address healthz-port hostname-override init-only
  iptables-localhost-nodeports iptables-masquerade-bit iptables-min-sync-period iptables-sync-period
  ipvs-exclude-cidrs ipvs-min-sync-period ipvs-scheduler ipvs-strict-arp ipvs-sync-period ipvs-tcp-timeout
  ipvs-tcpfin-timeout ipvs-udp-timeout kube-api-burst kube-api-content-type kube-api-qps kubeconfig
  log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size
  log-text-split-stream logging-format machine-id-file masquerade-all master metrics-bind-address metrics-port
  network-name nodeport-addresses oom-score-adj pod-bridge-interface pod-interface-name-prefix profiling
  proxy-mode proxy-port-range root-hnsendpoint-name show-hidden-metrics-for-version source-vip v version vmodule
  windows-service write-config-to
`
  .trim()
  .split(/\s+/)

test('every field of the configuration file has an answer, and nothing else has', () => {
  const ours = new Set(Object.values<Flag<unknown>>(fairleadFlags).map(({ configField }) => configField))
  const ofKubeProxy = fieldPaths().filter((path) => !ours.has(path))
  expect(Object.keys(fieldAnswers).sort()).toEqual(ofKubeProxy.sort())
})

test.each(flagsOfKubeProxy)('the flag --%s of kube-proxy has an answer', (name) => {
  expect(Object.keys(daemonFlags)).toContain(name)
  const { configField } = daemonFlags[name as DaemonFlagName]
  const answer = flagOverrides[name] ?? flagAnswers[name] ?? fieldAnswers[configField ?? '']
  expect(answer).toBeTypeOf('function')
})

test('no answer is for a flag that kube-proxy does not have', () => {
  const answered = [...Object.keys(flagAnswers), ...Object.keys(flagOverrides)]
  expect(answered.filter((name) => !flagsOfKubeProxy.includes(name))).toEqual([])
})

const values = ['', '0s', '10s', 'rr', true, false, 0, 5, [], ['10.0.0.0/8'], null]

describe.each(allModes)('from %s', (from) => {
  test.each(allModes)('to %s, an answer that is not "same" says what differs and how to go back', (to) => {
    const untold = Object.entries({ ...fieldAnswers, ...flagAnswers, ...flagOverrides }).filter(([, answerFor]) =>
      values.some((value) => {
        const { attention, ...said } = answerFor(value, { from, to, value: () => undefined })
        // Whoever has to decide must know what.
        const needed = [said.kubeProxy, said.fairlead, said.rollback, attention === 'decide' ? said.action : '-']
        return attention !== 'same' && needed.includes('')
      }),
    )
    expect(untold.map(([name]) => name)).toEqual([])
  })
})

/** The attention and the action for one option. */
function answered(flag: string, to: (typeof allModes)[number]) {
  const given = readGiven([{ name: 'k3s', text: `kube-proxy-arg: ${JSON.stringify(flag.split(' '))}` }])
  const compared = given.ok ? compare(given.given, to) : undefined
  if (compared?.ok !== true) throw new Error('the test cannot be compared')
  const { differences, same } = compared.comparison
  const name = flag.split(' ').at(-1)?.split('=')[0] ?? ''
  return same.includes(name) ? 'same' : differences.find((difference) => difference.name === name)?.attention
}

test.each([
  ['--proxy-mode=ipvs --ipvs-scheduler=lc', 'ipvs', 'same'],
  ['--proxy-mode=ipvs --ipvs-scheduler=lc', 'nftables', 'decide'],
  ['--proxy-mode=iptables --ipvs-scheduler=lc', 'nftables', 'same'],
  ['--proxy-mode=iptables --ipvs-scheduler=lc', 'ipvs', 'decide'],
  ['--proxy-mode=ipvs --ipvs-strict-arp', 'nftables', 'differs'],
  ['--proxy-mode=iptables --masquerade-all', 'nftables', 'same'],
  ['--proxy-mode=iptables --iptables-sync-period=1m', 'nftables', 'same'],
  ['--proxy-mode=iptables --iptables-sync-period=1m', 'ipvs', 'differs'],
  ['--proxy-mode=iptables --bind-address=127.0.0.1', 'userspace', 'decide'],
  ['--proxy-mode=iptables --bind-address=192.0.2.1', 'userspace', 'same'],
  ['--proxy-mode=iptables --proxy-port-range=40000-40999', 'userspace', 'decide'],
  ['--proxy-mode=iptables --proxy-port-range=40000-40999', 'iptables', 'same'],
  ['--proxy-mode=iptables --profiling', 'iptables', 'differs'],
  ['--proxy-mode=iptables --config-sync-period=1m', 'iptables', 'differs'],
] as const)('%s in %s mode: %s', (flags, to, expected) => {
  expect(answered(flags, to)).toBe(expected)
})

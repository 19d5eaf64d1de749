import { expect, test } from 'vitest'
import { type Flag, flagsOn } from '../flags/flag.ts'
import type { Fields, ObjectSchema } from '../file/schema.ts'
import { fairleadConfiguration } from '../file/fairlead-v1alpha1.ts'
import { kubeProxyConfiguration } from '../file/v1alpha1.ts'
import { daemonFlags } from './daemon-flags.ts'

/** The flags of kube-proxy 1.36.4 with a default that its help shows. */
const shownByKubeProxy: Readonly<Record<string, string>> = {
  'bind-address': '0.0.0.0',
  'boot-id-file': '/proc/sys/kernel/random/boot_id',
  'config-change': 'apply', // kube-proxy always exits
  'config-sync-period': '15m0s',
  'conntrack-max-per-core': '32768',
  'conntrack-min': '131072',
  'conntrack-tcp-timeout-close-wait': '1h0m0s',
  'conntrack-tcp-timeout-established': '24h0m0s',
  'healthz-bind-address': '0.0.0.0:10256',
  'healthz-port': '10256',
  'iptables-localhost-nodeports': 'true',
  'iptables-masquerade-bit': '14',
  'iptables-min-sync-period': '1s',
  'iptables-sync-period': '30s',
  'ipvs-min-sync-period': '1s',
  'ipvs-sync-period': '30s',
  'kube-api-burst': '10',
  'kube-api-content-type': 'application/vnd.kubernetes.protobuf',
  'kube-api-qps': '5',
  'log-file-max-size': '50Mi', // kube-proxy has no log file
  'log-flush-frequency': '5s',
  'logging-format': 'text',
  'machine-id-file': '/etc/machine-id,/var/lib/dbus/machine-id',
  'metrics-bind-address': '127.0.0.1:10249',
  'metrics-port': '10249',
  'oom-score-adj': '-999',
  'root-hnsendpoint-name': 'cbr0',
  'external-ip-guard': 'warn', // kube-proxy has none of these six
  'localhost-nodeports': 'auto',
  'service-series-limit': '2000',
  'trace-sampling': '1000',
  'userspace-client-address': 'auto',
  'userspace-engine': 'auto',
}

for (const [name, flag] of flagsOn(daemonFlags, 'win32')) {
  test(`--${name} has the default of kube-proxy`, () => {
    const shown = flag.type.render(flag.default)
    expect(['', '0', '0s', 'false', '[]'].includes(shown) ? undefined : shown).toBe(shownByKubeProxy[name])
  })

  test(`--${name} has a default that its own type can read`, () => {
    const isList = Array.isArray(flag.default)
    const parsed = flag.type.parse(isList ? '' : flag.type.render(flag.default), {
      value: flag.default,
      isDefault: true,
    })
    expect(parsed).toEqual({ ok: true, value: flag.default })
  })

  test(`--${name} names a field that the configuration file has, if any`, () => {
    const schemas = [kubeProxyConfiguration, fairleadConfiguration]
    expect(flag.configField === undefined || schemas.some((schema) => hasField(schema, flag))).toBe(true)
  })
}

function hasField(schema: ObjectSchema<unknown>, flag: Flag<unknown>): boolean {
  let fields: Fields | undefined = schema.fields
  for (const name of flag.configField?.split('.') ?? []) {
    const field: unknown = fields?.[name]
    if (field === undefined) return false
    fields = (field as Partial<ObjectSchema<unknown>>).fields
  }
  return true
}

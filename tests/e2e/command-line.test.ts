import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { runFairlead } from './testing/fairlead-process.ts'

const header = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n'

describe.concurrent('what cannot work ends with code 1 and one error that says what to do:', () => {
  const userspace = '--proxy-mode=userspace'
  test.each([
    ['a mistyped flag', ['--proxy-mod=userspace'], 'unknown flag: --proxy-mod, did you mean --proxy-mode?'],
    ['a mistyped command', ['demmo'], 'unknown command "demmo", did you mean demo? (see fairlead --help)'],
    ['a mistyped flag of the demo', ['demo', '--api-prot=1'], 'unknown flag: --api-prot, did you mean --api-port?'],
    ['a port that is none', ['demo', '--api-port=70000'], '--api-port=70000 is not a port: choose one up to 65535'],
    ['a data directory that is a file', ['demo', '--data-dir=/dev/null'], '--data-dir=/dev/null cannot be used: '],
    ['a value of the wrong type', ['--v=loud'], 'invalid argument "loud" for "--v" flag: "loud" is not a whole number'],
    [
      'objects from two places',
      [userspace, '--objects=.', '--kubeconfig=x'],
      '--objects and --kubeconfig contradict each other: objects come from files or from a cluster, remove one of the two',
    ],
    [
      'a dry run of nothing',
      ['--dry-run'],
      '--dry-run works only with --cleanup: add --cleanup, or use "fairlead render"',
    ],
    ['a mistyped mode', ['--proxy-mode=nftable'], '(blank means iptables) on linux; did you mean nftables?'],
    [
      'a mistyped mode to render',
      ['render', '--proxy-mode=nftable', '--objects=.'],
      '(blank means iptables) on linux; did you mean nftables?',
    ],
    ['help for a command that is none', ['help', 'rendr'], 'unknown command "rendr", did you mean render?'],
    ['a mistyped word', ['versoin'], 'unknown command "versoin", did you mean version? (see fairlead --help)'],
    [
      'a switch with its value apart',
      ['--masquerade-all', 'false'],
      '--masquerade-all takes its value after "=": write --masquerade-all=false',
    ],
    [
      'an unknown mode',
      ['--proxy-mode=magic'],
      'Invalid value: "magic": must be iptables, ipvs, nftables, ebpf, userspace',
    ],
    [
      'a kubeconfig that is not there',
      [userspace, '--kubeconfig=/missing'],
      /kubeconfig from \\?"\/missing\\?": ENOENT/,
    ],
    ['no way to a cluster', [userspace], 'no API server is configured: give --kubeconfig or --master'],
    ['objects that are not there', [userspace, '--objects=/missing'], '--objects=/missing cannot be read: ENOENT'],
    [
      'a configuration file that is not there',
      ['--config=/missing'],
      'cannot read the configuration file /missing: ENOENT',
    ],
    ['a place that cannot be written', ['--write-config-to=/missing/file'], '--write-config-to=/missing/file: ENOENT'],
    ['render without objects', ['render', userspace], 'render needs objects: give --objects=FILE_OR_DIRECTORY'],
    [
      'render of files that are not there',
      ['render', userspace, '--objects=/missing'],
      '/missing: no such file or folder',
    ],
  ])('%s', async (_what, args, message) => {
    await assertRefusal(args, message)
  })

  test.each([
    ['an unknown field', 'iptables:\n  masqueradeBits: 3\n', 'line 4: unknown field "iptables.masqueradeBits"'],
    [
      'a field that is set twice',
      'mode: userspace\nmode: nftables\n',
      'line 4: duplicate field "mode", first set on line 3',
    ],
    [
      'a field of an older kube-proxy',
      'udpIdleTimeout: 250ms\n',
      'line 3: field "udpIdleTimeout" is of an older kube-proxy, and nothing looks at it any more: remove it',
    ],
    [
      'a field of an older kube-proxy that has a successor',
      'conntrack:\n  max: null\n',
      'line 4: field "conntrack.max" is of an older kube-proxy, and nothing looks at it any more: ' +
        'remove it, and set conntrack.maxPerCore and conntrack.min instead',
    ],
    ['YAML that is none', 'iptables: [\nmode: userspace\n', 'line 4: '],
    ['a value that cannot be', 'mode: magic\n', 'KubeProxyConfiguration.Mode.ProxyMode: Invalid value: "magic"'],
  ])('a configuration file with %s', async (_what, text, message) => {
    await using folder = await TemporaryFolder.make()
    const file = await folder.write('config.yaml', header + text)
    await assertRefusal([`--config=${file}`], message)
  })

  async function assertRefusal(args: readonly string[], message: string | RegExp): Promise<void> {
    const { code, stdout, stderr } = await runFairlead(args)
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toMatch(message)
    const errors = stderr.split('\n').filter((line) => /^(Error|E\d{4} )/.test(line))
    expect(errors).toHaveLength(1)
    expect(stderr).not.toMatch(/^\s+at /m)
  }
})

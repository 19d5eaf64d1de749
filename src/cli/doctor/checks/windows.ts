import { check } from '../check.ts'

export const windows = check({
  name: 'windows-network',
  title: 'the Host Compute Network of Windows',
  systems: ['win32'],
  needs: ['hns'],
  concerns: ({ config }) => config.mode === 'kernelspace',
  finds: {
    'hns-unusable': {
      severity: 'error',
      meaning: 'HNS does not answer: the kernelspace mode cannot run.',
      fix: 'Install-WindowsFeature Containers; Get-Service hns; run as Administrator or LocalSystem.',
    },
    'hns-too-old': {
      severity: 'error',
      meaning: 'HNS lacks the V2 API, which came with 9.2.',
      fix: 'Use Windows Server 2019 or later.',
    },
    'hns-no-dsr': {
      severity: 'error',
      meaning: 'Direct server return is configured, and this HNS has none.',
      fix: 'Update Windows (Server 2019 has it from build 17763.1432 on), or leave out --enable-dsr.',
    },
    'hns-network-missing': {
      severity: 'error',
      meaning: 'The HNS network of the cluster is not there. The proxy waits for it.',
      fix: 'Let the CNI make it, or name another with --network-name (Get-HnsNetwork).',
    },
  },
  *run({ config }, { hns }, find) {
    if (hns.kind === 'fails') {
      yield find('hns-unusable', { what: 'HNS does not answer.', evidence: hns.reason, fix: hns.fix })
      return
    }
    const { version, hasV2, hasDsr, network } = hns
    if (!hasV2) yield find('hns-too-old', { what: 'HNS is too old.', evidence: `version ${version}` })
    if (config.winkernel.enableDsr && !hasDsr)
      yield find('hns-no-dsr', { what: 'HNS has no direct server return.', evidence: `version ${version}` })
    if (network === undefined)
      yield find('hns-network-missing', {
        what: 'The HNS network of the cluster is not there.',
        evidence:
          config.winkernel.networkName === '' ? 'no --network-name' : `no network ${config.winkernel.networkName}`,
      })
  },
})

export const administrator = check({
  name: 'administrator',
  title: 'whether we may change the network of Windows',
  systems: ['win32'],
  needs: [],
  finds: {
    'not-administrator': {
      severity: 'error',
      meaning: 'This process is no administrator: neither HNS nor netsh lets it change anything.',
      fix: 'Run as Administrator or LocalSystem, in a HostProcess container as "NT AUTHORITY\\SYSTEM".',
    },
  },
  *run({ isRoot, isBeforeStart }, _, find) {
    if (!isRoot && isBeforeStart)
      yield find('not-administrator', {
        what: 'This process is no administrator.',
        evidence: 'System32\\config is closed to it',
      })
  },
})

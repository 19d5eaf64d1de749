import { check } from '../check.ts'

export const ipvsSettings = check({
  name: 'ipvs-settings',
  title: 'settings of the kernel that the ipvs mode makes',
  needs: ['settings', 'daemon'],
  isBeforeStart: false,
  concerns: ({ config }) => config.mode === 'ipvs',
  finds: {
    'ipvs-setting-differs': {
      severity: 'warning',
      meaning: 'A setting that the ipvs mode depends on was changed since it started.',
      fix: 'Find who sets it (/etc/sysctl.d, another program), then restart the proxy.',
    },
  },
  *run({ config }, { settings, daemon }, find) {
    if (daemon.kind !== 'runs') return
    const wanted = [
      ['net/ipv4/vs/conntrack', '1'],
      ['net/ipv4/vs/expire_nodest_conn', '1'],
      ['net/ipv4/vs/expire_quiescent_template', '1'],
      ...(config.ipvs.strictArp
        ? ([
            ['net/ipv4/conf/all/arp_ignore', '1'],
            ['net/ipv4/conf/all/arp_announce', '2'],
          ] as const)
        : []),
    ] as const
    for (const [path, value] of wanted) {
      const is = settings.value(path)
      const name = path.replaceAll('/', '.')
      if (is !== value)
        yield find('ipvs-setting-differs', {
          what: `${name} is not what the ipvs mode needs.`,
          evidence: `${name} = ${is ?? 'not there'}, needed: ${value}`,
          fix: `sysctl -w ${name}=${value}; find who changed it.`,
        })
    }
  },
})

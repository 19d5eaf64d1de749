import { check } from '../check.ts'

export const selinux = check({
  name: 'selinux',
  title: 'what SELinux lets the proxy use of the node',
  needs: ['confinement'],
  finds: {
    'selinux-denies': {
      severity: 'error',
      meaning: 'SELinux keeps this process from a file or folder of the node that the proxy uses.',
      fix: 'In the chart: seLinuxOptions.type=spc_t. Else run the container with a label that may use it.',
    },
  },
  *run({ isRoot }, { confinement: { seLinuxContext, denied } }, find) {
    const type = seLinuxContext?.split(':')[2]
    // Another user meets the rights of the file before he meets SELinux.
    if (type === undefined || freeTypes.has(type) || !isRoot) return
    for (const { path, problem } of denied)
      yield find('selinux-denies', {
        what: `SELinux does not let this process use ${path}.`,
        evidence: `${problem}, as ${seLinuxContext}`,
      })
  },
})

/** SELinux does not confine these. */
const freeTypes: ReadonlySet<string> = new Set(['spc_t', 'unconfined_t', 'unconfined_service_t'])

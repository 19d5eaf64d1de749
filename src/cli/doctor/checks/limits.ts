import { check } from '../check.ts'

const mebibyte = 1024 * 1024

export const limits = check({
  name: 'limits',
  title: 'limits on files, memory and processes',
  needs: ['limits'],
  finds: {
    'open-files-low': {
      severity: 'warning',
      meaning: 'The process may open few files. In userspace mode each connection takes two.',
      fix: 'Raise it: LimitNOFILE=1048576 in systemd, ulimit -n in a shell.',
    },
    'memory-limit-low': {
      severity: 'warning',
      meaning: 'The memory limit is below 128 MiB: a large cluster does not fit.',
      fix: 'Raise resources.limits.memory of the container, or MemoryMax= of the unit.',
    },
    'memory-nearly-full': {
      severity: 'warning',
      meaning: 'Nine tenths of the memory limit are in use: the kernel may end the proxy.',
      fix: 'Raise resources.limits.memory of the container, or MemoryMax= of the unit.',
    },
    'processes-nearly-full': {
      severity: 'warning',
      meaning: 'The control group may have hardly any more processes: the proxy cannot run its tools.',
      fix: 'Raise pids.max (TasksMax= in systemd, podPidsLimit of the kubelet).',
    },
  },
  *run({ config }, { limits: { of, openFiles, memory, processes } }, find) {
    const least = config.mode === 'userspace' ? 16_384 : 1024
    if (openFiles !== undefined && openFiles < least)
      yield find('open-files-low', {
        what: `${of} may open ${openFiles} files; the ${config.mode} mode should have ${least}.`,
        evidence: `Max open files ${openFiles}`,
      })
    if (memory !== undefined && memory.limit < 128 * mebibyte)
      yield find('memory-limit-low', {
        what: 'The memory limit is low.',
        evidence: `${memory.path}: ${Math.round(memory.limit / mebibyte)} MiB`,
      })
    if (memory !== undefined && memory.used > 0.9 * memory.limit)
      yield find('memory-nearly-full', {
        what: 'The memory limit is nearly reached.',
        evidence: `${memory.path}: ${Math.round(memory.used / mebibyte)} of ${Math.round(memory.limit / mebibyte)} MiB`,
      })
    if (processes !== undefined && processes.limit - processes.used < 16)
      yield find('processes-nearly-full', {
        what: 'Hardly any process can be started.',
        evidence: `${processes.path}: ${processes.used} of ${processes.limit}`,
      })
  },
})

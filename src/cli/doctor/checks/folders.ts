import { check } from '../check.ts'

const mebibyte = 1024 * 1024

export const folders = check({
  name: 'folders',
  title: 'the folders that flags name',
  systems: ['linux', 'win32', 'darwin'],
  needs: ['folders'],
  finds: {
    'folder-missing': {
      severity: 'error',
      meaning: 'A folder or file that a flag names is not there, and cannot be made.',
      fix: 'Make it, or mount it into the container.',
    },
    'folder-not-writable': {
      severity: 'error',
      meaning: 'The proxy must write to a folder, and may not.',
      fix: 'Give the user of the proxy the right, or mount the folder without readOnly.',
    },
    'folder-unreadable': {
      severity: 'error',
      meaning: 'The proxy must read a folder or file, and may not.',
      fix: 'Give the user of the proxy the right.',
    },
    'folder-writable-by-others': {
      severity: 'warning',
      meaning: 'Other users may write to a folder whose content the proxy trusts.',
      fix: 'chmod go-w PATH.',
    },
    'disk-full': {
      severity: 'error',
      meaning: 'The disk of a folder is full: state is not saved.',
      fix: 'Make room on the disk.',
    },
    'disk-nearly-full': {
      severity: 'warning',
      meaning: 'The disk of a folder has less than 64 MiB left, or hardly any inodes.',
      fix: 'Make room on the disk.',
    },
  },
  *run({ platform }, { folders: all }, find) {
    for (const folder of all) {
      const { flag, path, kind, mayBeMade, isReadable, isWritable, mode, freeBytes, freeFiles, problem } = folder
      const name = `${flag}=${path}`
      const isWritten = flag !== '--objects'
      if (kind === 'missing') {
        if (problem !== undefined || !isWritten || !mayBeMade)
          yield find('folder-missing', {
            what: `${name} cannot be used.`,
            evidence: problem ?? `${path} does not exist`,
          })
        continue
      }
      if (isWritten && kind === 'file')
        yield find('folder-missing', { what: `${name} is no folder.`, evidence: `${path} is a file` })
      if (isWritten && !isWritable)
        yield find('folder-not-writable', {
          what: `${name} cannot be written to.`,
          evidence: `mode ${mode.toString(8)}`,
        })
      if (!isReadable)
        yield find('folder-unreadable', { what: `${name} cannot be read.`, evidence: `mode ${mode.toString(8)}` })
      if (platform !== 'win32' && (mode & 0o022) !== 0)
        yield find('folder-writable-by-others', {
          what: `Others may write to ${name}.`,
          evidence: `mode ${mode.toString(8)}`,
          fix: `chmod go-w ${path}`,
        })
      if (!isWritten || freeBytes === undefined) continue
      const free = `${Math.floor(freeBytes / mebibyte)} MiB and ${freeFiles ?? 'enough'} inodes free`
      if (freeBytes < mebibyte || freeFiles === 0)
        yield find('disk-full', { what: `The disk of ${name} is full.`, evidence: free })
      else if (freeBytes < 64 * mebibyte || (freeFiles ?? 1000) < 1000)
        yield find('disk-nearly-full', { what: `The disk of ${name} is nearly full.`, evidence: free })
    }
  },
})

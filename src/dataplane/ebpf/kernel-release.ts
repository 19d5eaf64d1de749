/**
 * Whether sockets of the kernel itself (NFS, SMB, Ceph) keep the address that they were given when a program exchanges it.
 * Linux 6.6 does. Some distributions have it in older kernels, which only their version tells.
 */
export function keepsAddressesOfKernelSockets(release: string): boolean {
  const [, major = '0', minor = '0', rest = ''] = /^(\d+)\.(\d+)(.*)$/.exec(release) ?? []
  if (isAtLeast([Number(major), Number(minor)], [6, 6])) return true
  const build = numbersIn(rest)
  return backports.some(({ line, from, isOfThem }) => {
    const has = `${major}.${minor}` === line && isOfThem.test(release)
    return has && isAtLeast(build, from)
  })
}

/** `5.15.0-113-generic`. Its kernels for clouds count in another way. */
const ubuntu = /^\d+\.\d+\.\d+-\d+-(generic|lowlatency)/

/** `6.1.0-18-amd64`: Debian 12. The number is not that of the stable kernel: 14 is 6.1.64. */
const debian = /^\d+\.\d+\.0-\d+-((rt|cloud)-)?(amd64|arm64)/
/** `6.1.59`: stable kernels, and who counts as they do. */
const stable = /^\d+\.\d+\.[1-9]/

/** `from` is compared with the numbers behind the version: `.0-113` is 0, 113. */
const backports: readonly { readonly line: string; readonly from: readonly number[]; readonly isOfThem: RegExp }[] = [
  { line: '5.4', from: [0, 187], isOfThem: ubuntu },
  { line: '5.15', from: [0, 113], isOfThem: ubuntu },
  { line: '6.5', from: [0, 41], isOfThem: ubuntu },
  { line: '6.1', from: [59], isOfThem: stable },
  { line: '6.1', from: [0, 14], isOfThem: debian },
  { line: '4.18', from: [0, 553, 8, 1], isOfThem: /\.el8/ },
  { line: '5.14', from: [0, 427, 31, 1], isOfThem: /\.el9/ },
]

const numbersIn = (text: string): readonly number[] =>
  (/^[\d.-]*/.exec(text)?.[0] ?? '')
    .split(/[.-]/)
    .filter((part) => part !== '')
    .map(Number)

function isAtLeast(version: readonly number[], from: readonly number[]): boolean {
  for (const [index, wanted] of from.entries()) {
    const has = version[index] ?? 0
    if (has !== wanted) return has > wanted
  }
  return true
}

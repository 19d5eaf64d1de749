/** The console by keyboard alone. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { isAtRest } from './testing/every-page.ts'
import { Shop } from './testing/shop.ts'
import { WatchedPage } from './testing/watched-page.ts'

describe.skipIf(whyNoChromium !== undefined)(`by keyboard${unlessChromium}`, () => {
  let browser: Browser
  let shop: Shop

  beforeAll(async () => {
    ;[browser, shop] = await Promise.all([launchChromium(), Shop.open()])
  })

  afterAll(async () => {
    await browser?.close()
    await shop?.[Symbol.asyncDispose]()
  })

  test('the first stop skips to the content', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/services`)
    const { page } = watched
    await isAtRest(page)
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to the content')
    expect(await page.locator(':focus').isVisible()).toBe(true)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)
  })

  test('Tab goes through everything, in the order of the page, and back to its start', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/services`)
    const { page } = watched
    await isAtRest(page)
    const stops: string[] = []
    for (let count = 0; count < 60; count++) {
      await page.keyboard.press('Tab')
      const stop = await focused(page)
      if (stop === '' || stops[0] === stop) break
      stops.push(stop)
    }
    expect(stops.slice(0, 4)).toEqual(['Skip to the content', 'Fairlead', 'Overview', 'Services'])
    expect(stops.indexOf('Search Services')).toBeGreaterThan(stops.indexOf('Services'))
    // The list is one stop; within it the arrows move.
    expect(stops).toContain('grid Services')
    expect(stops.length).toBeLessThan(40)
  })

  test('a letter searches, arrows move in the list, Enter opens a Service, and the content has the focus', async () => {
    await using watched = await WatchedPage.open(browser, shop.url)
    const { page } = watched
    await isAtRest(page)
    await page.keyboard.press('/')
    await page.locator('input[type="search"]:focus').waitFor()
    await page.keyboard.type('e')
    await page.keyboard.press('ArrowDown')
    await page.getByRole('grid', { name: 'Services' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('End')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    const active = page.locator('[role="row"][aria-selected="true"]')
    await active.waitFor()
    const name = await active.getByRole('rowheader').innerText()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/services/default/${name}`)
    await page.locator('main:focus').waitFor()
    await page.goBack()
    await page.waitForURL(/\/services\?q=e$/)
    expect(await page.getByLabel('Search Services').inputValue()).toBe('e')
  })

  test('the help opens, keeps the focus, and Escape closes it', async () => {
    await using watched = await WatchedPage.open(browser, shop.url)
    const { page } = watched
    await isAtRest(page)
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keys' })
    await dialog.waitFor()
    for (let count = 0; count < 6; count++) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.closest('main, header'))).toBeNull()
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await expect
      .poll(async () => {
        await page.keyboard.press('g')
        await page.keyboard.press('s')
        return page.url()
      })
      .toMatch(/\/services$/)
    expect(watched.problems).toEqual([])
  })
})

/** What a screen reader would call it, roughly. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement
    if (element === null || element === document.body) return ''
    const label = element.getAttribute('aria-label') ?? (element as HTMLInputElement).labels?.[0]?.innerText
    const role = element.getAttribute('role')
    return [role, (label ?? (element as HTMLElement).innerText).trim()].filter(Boolean).join(' ')
  })
}

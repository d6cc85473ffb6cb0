/** The used part of the package pkcs11js, which is an optional dependency. PKCS #11 v2.40. */
declare module 'pkcs11js' {
  export class PKCS11 {
    load(path: string): void
    C_Initialize(options: { readonly flags: number }): void
    C_Finalize(): void
    C_GetSlotList(tokenPresent: boolean): Buffer[]
    C_GetTokenInfo(slot: Buffer): { readonly label: string }
    C_OpenSession(slot: Buffer, flags: number): Buffer
    C_CloseSession(session: Buffer): void
    C_Login(session: Buffer, userType: number, pin: string): void
    C_FindObjectsInit(
      session: Buffer,
      template: readonly { readonly type: number; readonly value: number | string }[],
    ): void
    C_FindObjects(session: Buffer, maxObjectCount: number): Buffer[]
    C_FindObjectsFinal(session: Buffer): void
    C_SignInit(session: Buffer, mechanism: { readonly mechanism: number; readonly parameter: null }, key: Buffer): void
    C_SignAsync(session: Buffer, data: Buffer, signature: Buffer): Promise<Buffer>
  }
}

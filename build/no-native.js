// In place of native code, where there may be none: it is asked for, and the same is done without.
throw new Error('there is no native code here')

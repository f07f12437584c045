# images.py - networks on images, of PyTorch peers and of recorded numbers.
#
# SPDX-License-Identifier: Apache-2.0
#
# ResNet with the names, shapes and order of operations of torchvision, which
# need not be installed, and the U-Net of `pp-model unet`. Images are [batch,
# channels, height, width] here.
"""ResNet and U-Net in PyTorch."""

import functools

import torch
from torch import nn
from torch.nn import functional as F

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


def norm_layer(kind, groups):
    return nn.BatchNorm2d if kind == "batch" else functools.partial(
        nn.GroupNorm, groups)


def conv(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2,
                     bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride, norm, downsample):
        super().__init__()
        self.conv1 = conv(inputs, width, 3, stride)
        self.bn1 = norm(width)
        self.conv2 = conv(width, width, 3)
        self.bn2 = norm(width)
        self.downsample = downsample

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride, norm, downsample):
        super().__init__()
        self.conv1 = conv(inputs, width, 1)
        self.bn1 = norm(width)
        self.conv2 = conv(width, width, 3, stride)
        self.bn2 = norm(width)
        self.conv3 = conv(width, 4 * width, 1)
        self.bn3 = norm(4 * width)
        self.downsample = downsample

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet(nn.Module):
    def __init__(self, depth=18, norm="batch", classes=10, width=64, groups=32):
        super().__init__()
        make_norm = norm_layer(norm, groups)
        block = Bottleneck if depth == 50 else BasicBlock
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = make_norm(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = width
        for stage, count in enumerate(BLOCKS[depth]):
            outputs, layers = (width << stage) * block.expansion, []
            for i in range(count):
                stride = 2 if stage and not i else 1
                downsample = None
                if stride != 1 or inputs != outputs:
                    downsample = nn.Sequential(conv(inputs, outputs, 1, stride),
                                               make_norm(outputs))
                layers.append(block(inputs, width << stage, stride, make_norm,
                                    downsample))
                inputs = outputs
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Pair(nn.Module):
    def __init__(self, inputs, outputs, groups, up=None):
        super().__init__()
        if up:
            self.up = conv(up, outputs, 3)
        self.conv1 = conv(inputs, outputs, 3)
        self.norm1 = nn.GroupNorm(groups, outputs)
        self.conv2 = conv(outputs, outputs, 3)
        self.norm2 = nn.GroupNorm(groups, outputs)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x)))


class UNet(nn.Module):
    def __init__(self, depth=3, channels=3, classes=4, width=32, groups=8):
        super().__init__()
        sizes = [width << level for level in range(depth + 1)]
        self.encoder = nn.ModuleList(
            Pair(sizes[i - 1] if i else channels, sizes[i], groups)
            for i in range(depth))
        self.bottom = Pair(sizes[-2], sizes[-1], groups)
        self.decoder = nn.ModuleList(
            Pair(2 * sizes[i], sizes[i], groups, up=sizes[i + 1])
            for i in range(depth))
        self.head = nn.Conv2d(width, classes, 1, bias=False)

    def forward(self, x):
        skips = []
        for level in self.encoder:
            skips.append(level(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.bottom(x)
        for level, skip in reversed(list(zip(self.decoder, skips))):
            up = level.up(F.interpolate(x, scale_factor=2, mode="nearest"))
            x = level(torch.cat((skip, up), 1))
        return self.head(x)


def build(family, **sizes):
    return ResNet(**sizes) if family == "resnet" else UNet(**sizes)
